"""A profile's stability rating, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import columns, figure, render_report
from services.views.terminal import share, totals_line

if TYPE_CHECKING:
    from storage.query.answers.stability import StabilityAnswer

_MEANS = {
    "steady": ("small rows are reliable too", "green"),
    "fair": ("the hottest rows are reliable", "green"),
    "rough": ("only the very top of the profile is reliable", "yellow"),
    "shifting": ("the days differ in kind: look at each day separately", "red"),
    "few": ("too few visits contain the selection for a rating", "yellow"),
}


def stability(answer: "StabilityAnswer") -> RenderableType:
    """The badge of /analysis/stability, and the days."""
    return render_report(answer, lambda: _body(answer), [totals_line(answer)])


def _body(answer: "StabilityAnswer") -> RenderableType:
    assert answer.badge is not None, answer.because
    means, style = _MEANS[answer.badge]
    lines = [Text.assemble((answer.badge, f"bold {style}"), f": {means}")]
    if answer.misplaced is not None:
        lines.append(
            Text(f"{figure(answer.misplaced, share)} of {answer.samples:,.0f} samples are in wrong rows")
        )
    if answer.more_visits:
        lines.append(
            Text(
                f"{answer.more_visits:,.0f} more visits that contain the selection are needed for the badge steady"
            )
        )
    table = columns("visits", "samples", "entropy, 95 %", "day", wide=("day",))
    for row in answer.rows:
        day = Text(row.day[:10])
        if row.shifted:
            day.append("  differs in kind from the other days", "red")
        table.add_row(f"{row.visits:,}", f"{row.samples:,.0f}", figure(row.entropy), day)
    return Group(*lines, table) if answer.rows else Group(*lines)
