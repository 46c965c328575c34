"""A profile's stability rating, in a terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import AnswerJson, columns, figure, render_report
from services.views.terminal import share

_MEANS = {
    "steady": ("small rows may be trusted too", "green"),
    "fair": ("the hottest rows may be trusted", "green"),
    "rough": ("nothing but its very top may be trusted", "yellow"),
    "shifting": ("days differ in kind: look at them apart", "red"),
    "few": ("too few visits have it to say anything", "yellow"),
}


def stability(answer: AnswerJson) -> RenderableType:
    """The badge of /analysis/stability, and the days."""
    return render_report(answer, lambda: _body(answer))


def _body(answer: AnswerJson) -> RenderableType:
    means, style = _MEANS[answer["badge"]]
    lines = [Text.assemble((answer["badge"], f"bold {style}"), f": {means}")]
    if answer["misplaced"] is not None:
        lines.append(
            Text(
                f"{figure(answer['misplaced'], share)} of {answer['samples']:,.0f} samples are at wrong rows"
            )
        )
    if answer["more_visits"]:
        lines.append(Text(f"{answer['more_visits']:,.0f} more visits that have it would make it steady"))
    table = columns("visits", "samples", "entropy, 95 %", "day", wide=("day",))
    for row in answer["rows"]:
        day = Text(row["day"][:10])
        if row["shifted"]:
            day.append("  not of the same thing as the others", "red")
        table.add_row(f"{row['visits']:,}", f"{row['samples']:,.0f}", figure(row["entropy"]), day)
    return Group(*lines, table) if answer["rows"] else Group(*lines)
