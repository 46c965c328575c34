"""Source lines in a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.views.terminal import share

if TYPE_CHECKING:
    from storage.query.answers.lines import LineRow, LinesAnswer, SourceVersion

_SHORT = 12
"""Hexadecimal digits of a hash in the output."""
_MOST_BUILDS = 3


def lines(answer: "LinesAnswer") -> RenderableType:
    """The lines of `/api/v1/lines`, one table for each version of a file."""
    if not answer.functions:
        return Text("No stack of the selection contains a matching function or file.")
    itself = answer.itself
    parts: list[RenderableType] = [
        Text(f"self {share(itself.self_share)}  total {share(itself.total_share)}")
    ]
    for number, version in enumerate(answer.versions):
        rows = [row for row in answer.rows if row.version == number]
        if rows:
            parts += [Text(""), _heading(version), _table(rows)]
    left = answer.rows_total - len(answer.rows)
    if left:
        parts.append(Text(f"{left:,} more lines", style="dim"))
    if answer.without_line and itself.self:
        unknown = share(answer.without_line / itself.self)
        parts.append(Text(f"The line is unknown for {unknown} of self.", style="dim"))
    return Group(*parts)


def _heading(version: "SourceVersion") -> Text:
    text = Text(version.file or "(unknown file)", style="bold")
    text.append(f"  {share(version.self_share)}", style="not bold")
    what = f"text {version.sha256[:_SHORT]}" if version.sha256 else "text not stored"
    builds = [f"{build.binary} {build.key[:_SHORT]}" for build in version.builds]
    more = f" and {len(builds) - _MOST_BUILDS:,} more" if len(builds) > _MOST_BUILDS else ""
    message = "; ".join([what, ", ".join(builds[:_MOST_BUILDS]) + more]) if builds else what
    return text.append(f"  {message}", style="not bold dim")


def _table(rows: "Sequence[LineRow]") -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, width in (("line", 7), ("self", 8), ("95 %", 13), ("total", 8)):
        table.add_column(name, justify="right", no_wrap=True, width=width)
    for row in rows:
        lo, hi = row.self_lo, row.self_hi
        interval = "" if lo is None or hi is None else f"{100 * lo:.1f}–{100 * hi:.1f}"
        table.add_row(
            str(row.line),
            share(row.self_share),
            Text(interval, style="dim"),
            share(row.total_share),
        )
    return table
