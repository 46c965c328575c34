"""A plan of applications on platforms, in a terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import AnswerJson, amount, columns, figure, render_report
from services.views.terminal import share


def affinity(answer: AnswerJson) -> RenderableType:
    """The plan of /analysis/affinity: its savings, and the moves that matter."""
    return render_report(answer, lambda: _body(answer))


def _body(answer: AnswerJson) -> RenderableType:
    present = answer["present_cycles"]
    saving = answer["saving_cycles"]
    lines = [
        Text(f"counted cycles: {amount(present)} today, {amount(answer['planned_cycles'])} planned"),
        Text(
            f"saves {figure(saving, lambda cycles: share(cycles / present))} of them; "
            f"{share(answer['certain_cycles'] / present)} even if every CPI is at the worse end of its interval; "
            f"without the correction for optimism the estimate is {share(answer['optimism_cycles'] / present)} higher"
        ),
    ]
    if answer["unknown"]:
        lines.append(
            Text(
                f"{answer['unknown']:,} pairs of an application and a platform have no measurements: the plan moves nothing there",
                "dim",
            )
        )
    if not answer["rows"]:
        return Group(*lines, Text("No move saves cycles."))
    names = ("saves cycles", "of counted work", "application", "from", "to")
    table = columns(*names, wide=names[2:])
    for move in answer["rows"]:
        table.add_row(
            amount(move["saving_cycles"]),
            share(move["share"]),
            *(Text(move[name]) for name in ("application", "source", "destination")),
        )
    left = answer["rows_total"] - len(answer["rows"])
    notes = [Text("moves that save nothing free capacity for other moves", "dim")]
    if left > 0:
        notes.append(Text(f"{left:,} smaller moves are not shown", "dim"))
    return Group(*lines, table, *notes)
