"""A plan of applications on platforms, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import amount, columns, figure, inputs, render_report
from services.views.terminal import share

if TYPE_CHECKING:
    from storage.query.answers.affinity import AffinityAnswer


def affinity(answer: "AffinityAnswer") -> RenderableType:
    """The plan of /analysis/affinity: its savings, and the moves that matter."""
    return render_report(answer, lambda: _body(answer), inputs(answer.inputs))


def _body(answer: "AffinityAnswer") -> RenderableType:
    lines = _savings(answer)
    if answer.unknown:
        lines.append(
            Text(
                f"{answer.unknown:,} pairs of an application and a platform have no measurements: the plan moves nothing there",
                "dim",
            )
        )
    if not answer.rows:
        return Group(*lines, Text("No move saves cycles."))
    names = ("saves cycles", "of counted work", "application", "from", "to")
    table = columns(*names, wide=names[2:])
    for move in answer.rows:
        table.add_row(
            amount(move.saving_cycles),
            share(move.share),
            *map(Text, (move.application, move.source, move.destination)),
        )
    left = answer.rows_total - len(answer.rows)
    notes = [Text("moves that save nothing free capacity for other moves", "dim")]
    if left > 0:
        notes.append(Text(f"{left:,} smaller moves are not shown", "dim"))
    return Group(*lines, table, *notes)


def _savings(answer: "AffinityAnswer") -> list[Text]:
    present, planned = answer.present_cycles, answer.planned_cycles
    certain, optimism = answer.certain_cycles, answer.optimism_cycles
    if present is None or planned is None or certain is None or optimism is None:
        return []
    return [
        Text(f"counted cycles: {amount(present)} today, {amount(planned)} planned"),
        Text(
            f"saves {figure(answer.saving_cycles, lambda cycles: share(cycles / present))} of them; "
            f"{share(certain / present)} even if every CPI is at the worse end of its interval; "
            f"without the correction for optimism the estimate is {share(optimism / present)} higher"
        ),
    ]
