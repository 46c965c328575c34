"""Two accounts of CPU time in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import columns, figure, inputs, render_report
from services.views.terminal import seconds, share

if TYPE_CHECKING:
    from storage.query.answers.cross_check import CrossCheckAnswer

_STYLES = {"agree": "green", "differ": "red", "unclear": "yellow"}


def cross_check(answer: "CrossCheckAnswer") -> RenderableType:
    """The rows of /analysis/cross-check."""
    return render_report(answer, lambda: _body(answer), inputs(answer.inputs))


def _body(answer: "CrossCheckAnswer") -> RenderableType:
    names = ("sampled s", "accounted s", "sampled ÷ accounted, 95 %", "visits", "verdict", answer.by)
    table = columns(*names, wide=names[-2:])
    for row in answer.rows:
        table.add_row(
            seconds(row.sampled_core_seconds),
            seconds(row.monitored_core_seconds),
            figure(row.ratio),
            f"{row.visits:,}",
            Text(row.verdict, _STYLES[row.verdict]),
            Text(row.value or "(none)"),
        )
    within = share(answer.tolerance)
    note = f"core-seconds of the fleet in the covered time; agree: the interval is within {within} of 1; unclear: the interval crosses that limit"
    return Group(table, Text(note, "dim"))
