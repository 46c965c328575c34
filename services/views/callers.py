"""Callers and callees of a function in a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from services.views.terminal import share

if TYPE_CHECKING:
    from storage.query.answers.callers import CallersAnswer, CallRow, CallTree

_SMALLEST = 0.01
"""Nodes of a tree below this share of the function are not drawn."""
_DEEPEST = 12


def callers(answer: "CallersAnswer") -> RenderableType:
    """The callers and callees in the answer of `/api/v1/callers`."""
    if not answer.functions:
        return Text("No stack of the selection contains a matching function.")
    parts: list[RenderableType] = [_itself(answer)]
    for side, total, title, no_function in (
        ("caller", answer.callers_total, "called by", "(stacks begin with it)"),
        ("callee", answer.callees_total, "calls", ""),
    ):
        rows = [row for row in answer.rows if row.side == side]
        parts += [Text(""), _side(rows, title, no_function)]
        left = total - len(rows)
        if left:
            parts.append(Text(f"{left:,} more", style="dim"))
    if answer.borrowed:
        parts.append(
            Text("Intervals use the function's design effect: rollup cells contain no calls.", style="dim")
        )
    return Group(*parts)


def trees(answer: "CallersAnswer") -> RenderableType:
    """All steps: callers of callers and callees of callees, down to a hundredth of the function."""
    if not answer.functions:
        return callers(answer)
    above = _drawn(answer.above, "callers, and their callers")
    return Group(
        _itself(answer), Text(""), above, Text(""), _drawn(answer.below, "callees, and their callees")
    )


def _itself(answer: "CallersAnswer") -> Text:
    row, named = answer.itself, answer.functions
    name = named[0].name if answer.functions_total == 1 else f"{answer.functions_total:,} functions"
    own = _with_interval(row.self_share, _interval(row.self_lo, row.self_hi))
    total = _with_interval(row.total_share, _interval(row.total_lo, row.total_hi))
    text = Text.assemble((name, "bold"), f"  self {own}  total {total}")
    if answer.functions_total == 1 and named[0].binary:
        text.append(f"  {named[0].binary}", style="dim")
    return text


def _side(rows: "Sequence[CallRow]", title: str, no_function: str) -> Table:
    """One side's rows. The column `of function` is a share of the function's total, `total` one of the selection."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("of function", justify="right", no_wrap=True, width=11)
    table.add_column("total", justify="right", no_wrap=True, width=8)
    table.add_column("95 %", justify="right", no_wrap=True, width=13, style="dim")
    table.add_column("self", justify="right", no_wrap=True, width=8)
    table.add_column(title, no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1, style="dim")
    for row in rows:
        key = row.key
        name = Text(key["function"]) if key else Text(no_function, style="italic dim")
        table.add_row(
            share(row.of_function),
            share(row.total_share),
            _interval(row.total_lo, row.total_hi),
            share(row.self_share),
            name,
            Text(key.get("binary", "")),
        )
    return table


def _drawn(tree: "CallTree", title: str) -> Tree:
    whole = tree.total[0] or 1.0
    branches: dict[int, Tree] = {}
    depths = {0: 0}
    for node, (parent, total) in enumerate(zip(tree.parent, tree.total, strict=True)):
        name = tree.functions[tree.function[node]].name
        if parent < 0:
            branches[node] = Tree(Text.assemble((name, "bold"), f"  {title}"), guide_style="dim")
            continue
        depths[node] = depths[parent] + 1
        if parent in branches and total / whole >= _SMALLEST and depths[node] <= _DEEPEST:
            branches[node] = branches[parent].add(Text.assemble(f"{share(total / whole):>7} ", name))
    return branches[0]


def _with_interval(value: float, interval: str) -> str:
    return f"{share(value)}{f' ({interval})' if interval else ''}"


def _interval(lo: float | None, hi: float | None) -> str:
    return "" if lo is None or hi is None else f"{100 * lo:.1f}–{100 * hi:.1f}"
