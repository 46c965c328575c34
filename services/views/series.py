"""A selection over time in a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.bar import Bar
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from services.views.measures import Figure, Measure
from services.views.terminal import seconds, share

if TYPE_CHECKING:
    from storage.query.answers.series import LineRows, PointRow, SeriesRows, SeriesStep

_BAR = 24
_LEVELS = "▁▂▃▄▅▆▇█"
_NOTHING = "·"


def series(answer: "SeriesRows") -> RenderableType:
    """The whole step by step, and the course of each row's share."""
    whole = answer.whole
    parts: list[RenderableType] = [_steps(answer.steps, whole)]
    if any(step.partial for step in answer.steps):
        parts.append(Text("* only a part of the step", style="dim"))
    if any(step.too_few_ingested for step in answer.steps):
        parts.append(Text("… too few of the step's visits have been ingested yet", style="dim"))
    if any(map(_is_bound, whole)):
        parts.append(
            Text("≤ upper bound (95 %): none of the step's visits has samples of the selection", style="dim")
        )
    rows = [line for line in answer.lines if line.role != "whole"]
    if rows:
        parts += [Text(""), _rows(rows)]
    left = answer.lines_total - len(answer.rows)
    if left > 0 and answer.by:
        parts.append(Text(f"{left:,} more rows", style="dim"))
    return Group(*parts)


def _steps(steps: Sequence["SeriesStep"], points: Sequence["PointRow"]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    in_cores = any(point.cores for point in points)
    headings = "UTC", "cores" if in_cores else "observed", "95 %" if in_cores else "", "visits"
    values = [_value(point, in_cores=in_cores) for point in points]
    most = max((value for value in values if value is not None), default=0.0)
    rows = [
        (
            step.start[:16].replace("T", " ") + ("*" if step.partial else ""),
            _figure(step, value, in_cores=in_cores),
            _interval(point),
            f"{point.visits:,} of {step.visits_drawn:,}",
        )
        for step, point, value in zip(steps, points, values, strict=True)
    ]
    for heading, texts in zip(headings, zip(*rows, strict=True), strict=True):
        # In a narrow terminal the bars shrink: a truncated number would be a wrong one.
        justify: JustifyMethod = "left" if heading == "UTC" else "right"
        style = "dim" if heading in {"95 %", ""} else None
        table.add_column(heading, justify=justify, no_wrap=True, style=style, min_width=max(map(len, texts)))
    table.add_column("", no_wrap=True)
    for texts, value in zip(rows, values, strict=True):
        table.add_row(*texts, Bar(most or 1.0, 0.0, value or 0.0, width=_BAR, color="cyan"))
    return table


def _interval(point: "PointRow") -> str:
    cores = point.cores
    if cores is None:
        return ""
    if _is_bound(point):
        most, _ = Figure(cores.hi).text(Measure.CORES)
        return f"≤ {most}"
    return f"{cores.lo:,.1f}–{cores.hi:,.1f}" + (" ?" if point.low_confidence else "")


def _is_bound(point: "PointRow") -> bool:
    """No visit saw any of it, so the interval's end is an upper bound."""
    return point.cores is not None and not point.units


def _figure(step: "SeriesStep", value: float | None, *, in_cores: bool) -> str:
    if value is None:
        return "…" if step.too_few_ingested else "–"
    return f"{value:,.1f}" if in_cores else seconds(value)


def _value(point: "PointRow", *, in_cores: bool) -> float | None:
    if in_cores:
        return None if point.cores is None else float(point.cores.value)
    return float(point.units if point.seconds is None else point.seconds)


def _rows(rows: Sequence["LineRows"]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("first", justify="right", no_wrap=True, width=7)
    table.add_column("last", justify="right", no_wrap=True, width=7)
    table.add_column("share of each step", no_wrap=True, min_width=len(rows[0].points))
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        shares = [point.share for point in row.points]
        known = [value for value in shares if value is not None]
        name = row.key.get("function") or ", ".join(value or "(none)" for value in row.key.values())
        table.add_row(
            share(known[0] if known else None),
            share(known[-1] if known else None),
            Text(sparkline(shares), style="cyan"),
            Text(name) if row.role == "row" else Text("all others", style="dim"),
        )
    return table


def sparkline(values: Sequence[float | None]) -> str:
    """A character for each value, from 0 to the largest; a dot for None."""
    most = max((value for value in values if value is not None), default=0.0)

    def drawn(value: float | None) -> str:
        if value is None:
            return _NOTHING
        return _LEVELS[0] if most <= 0 else _LEVELS[min(int(value / most * len(_LEVELS)), len(_LEVELS) - 1)]

    return "".join(map(drawn, values))
