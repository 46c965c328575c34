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
        Text(
            f"today {amount(present)} cycles, planned {amount(answer['planned_cycles'])}, of what was counted"
        ),
        Text(
            f"saves {figure(saving, lambda cycles: share(cycles / present))} of them; "
            f"{share(answer['certain_cycles'] / present)} even if every CPI lies at the worse end of its interval; "
            f"the plan by itself would promise {share(answer['optimism_cycles'] / present)} more"
        ),
    ]
    if answer["unknown"]:
        lines.append(
            Text(
                f"{answer['unknown']:,} pairs of an application and a platform were never measured: nothing is moved there",
                "dim",
            )
        )
    if not answer["rows"]:
        return Group(*lines, Text("No move pays off."))
    names = ("saves cycles", "of its counted work", "application", "from", "to")
    table = columns(*names, wide=names[2:])
    for move in answer["rows"]:
        table.add_row(
            amount(move["saving_cycles"]),
            share(move["share"]),
            *(Text(move[name]) for name in ("application", "source", "destination")),
        )
    left = answer["rows_total"] - len(answer["rows"])
    notes = [Text("moves that save nothing make room for others", "dim")]
    if left > 0:
        notes.append(Text(f"{left:,} smaller moves are not shown", "dim"))
    return Group(*lines, table, *notes)
