"""Shared code and the users of a function, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.views.terminal import share

if TYPE_CHECKING:
    from storage.query.answers.figures import Interval
    from storage.query.answers.shared_code import SharedCodeAnswer, UsersAnswer


def shared_code(answer: "SharedCodeAnswer", *, own: bool = True) -> RenderableType:
    """The code of `/api/v1/shared-code`: cold in each program and hot across the fleet."""
    if not answer.rows:
        return Text("No code is shared by enough applications and cold in each of them.")
    priced = answer.price_per_core_hour is not None
    part = "self" if own else "total"
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name, width in ((part, 7), ("95 %", 12), ("apps", 6), ("cores", 8)):
        table.add_column(name, justify="right", no_wrap=True, width=width)
    saving = f"{share(answer.saving)} saves"
    table.add_column(saving, justify="right", no_wrap=True, width=max(len(saving), 11))
    table.add_column(answer.by[0], no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column("most in", no_wrap=True, overflow="ellipsis", ratio=2, style="dim")
    for row in answer.rows:
        value, lo, hi = (
            (row.self_share, row.self_lo, row.self_hi)
            if own
            else (row.total_share, row.total_lo, row.total_hi)
        )
        saved = row.saved.money_a_year if priced else row.saved.cores
        table.add_row(
            share(value),
            _interval(lo, hi),
            f"{row.applications:,}",
            _plain(row.cost.cores),
            _plain(saved, " a year" if priced else " cores"),
            Text(row.key[answer.by[0]]),
            Text(f"{row.largest_application or '(none)'} {share(row.largest_share)}"),
        )
    left = answer.rows_total - len(answer.rows)
    more_rows = [Text(f"{left:,} more", style="dim")] if left else []
    whole = Text(
        f"Together {share(answer.share)} of the selection, in {answer.applications:,} applications."
        if own
        else f"In {answer.applications:,} applications.",
        style="dim",
    )
    return Group(table, *more_rows, whole)


def users(answer: "UsersAnswer") -> RenderableType:
    """The users of a function in the answer of `/api/v1/shared-code/users`."""
    unseen = answer.unseen_hi
    # The bound does not cover all applications missing from the list: the list may be cut.
    what = "An application" if answer.by == ("application",) else "A row"
    message = f"{what} without samples in any visit has less than"
    rare = [] if unseen is None else [Text(f"{message} {100 * unseen:.2g} %.", style="dim")]
    if not answer.rows:
        return Group(Text("No stack of the selection contains a matching function."), *rare)
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name, width in (("of function", 11), ("total", 8), ("95 %", 13), ("of row", 8)):
        table.add_column(name, justify="right", no_wrap=True, width=width)
    table.add_column(", ".join(answer.by), no_wrap=True, overflow="ellipsis", ratio=2)
    table.add_column("called by", no_wrap=True, overflow="ellipsis", ratio=3, style="dim")
    for row in answer.rows:
        callers = (
            f"{caller.function.name if caller.function else '(no caller)'} {share(caller.share)}"
            for caller in row.callers
        )
        table.add_row(
            share(row.of_function),
            share(row.total_share),
            _interval(row.total_lo, row.total_hi),
            share(row.within),
            Text(", ".join(value or "(none)" for value in row.key.values())),
            Text(", ".join(callers)),
        )
    left = answer.rows_total - len(answer.rows)
    return Group(table, *([Text(f"{left:,} more", style="dim")] if left else []), *rare)


def _interval(lo: float | None, hi: float | None) -> Text:
    return Text("" if lo is None or hi is None else f"{100 * lo:.1f}–{100 * hi:.1f}", style="dim")


def _plain(interval: "Interval | None", unit: str = "") -> str:
    if interval is None:
        return "–"
    value = interval.value
    return f"{value:,.0f}{unit}" if value >= 100 else f"{value:.2g}{unit}"
