"""Stores with functions of all kinds, asked by their own sums, by stacks and visit by visit: all say the same."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from storage.errors import BudgetExceeded
from storage.query.answers.table import TableAnswer, TableRow
from storage.query.answers.totals import Totals
from storage.query.query_engine import QueryEngine
from storage.query.samples import SampleSource
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.table import TableQuestion
from tests.access_paths import BY_STACKS, BY_VISITS, planned
from tests.fact_writer import FactWriter
from tests.rollup_store import RolledStore, Seen

MIDNIGHT = datetime(2026, 11, 18, 0, 0, tzinfo=UTC)
SIZES = {"east": 100, "west": 40}
HOUR = 60
DAY = 24 * HOUR
MAIN, WORK, TWIN, NAMELESS, OTHER, KERNEL, CUT, LEFT_OUT = range(8)
TOGETHER = (TWIN, NAMELESS, OTHER)
"""What may become `work`."""
LATE = datetime(2026, 11, 27, tzinfo=UTC)
"""The buckets of four days with all visits are closed, and none of more days."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC).toordinal()
CLOSED = (-4 * DAY, 7 * DAY)
"""Minutes with those buckets."""


def functions(write: FactWriter) -> list[int]:
    key = uuid4().hex
    return [
        write.function("main", binary="prog"),
        write.function("work", binary="prog", file="w.c"),
        write.function("work.cold", binary="prog", status=2, start=(key, 1)),
        write.function("[prog]", binary="prog", status=1, start=(key, 2)),
        write.function("[other]", binary="other", status=0, start=(key, 3)),
        write.function("sys_read", binary="[kernel]", status=2, kind=1),
        write.function("[stack: cut short]", kind=2),
        write.function("[frames left out]", kind=2),
    ]


def store_of(engine: Engine, stacks: Sequence[Sequence[int]]) -> RolledStore:
    return RolledStore(
        engine, f"c{uuid4().hex}", sizes=SIZES, functions=functions, stacks=stacks, midnight=MIDNIGHT
    )


def minutes(start: int, end: int, **more: str) -> Selection:
    bounds = [(MIDNIGHT + timedelta(minutes=m)).isoformat() for m in (start, end)]
    return parse_selection(start=bounds[0], end=bounds[1], **more)


@contextmanager
def counting_stacks() -> Iterator[list[int]]:
    """How often samples were made of the cells' stacks."""
    made = [0]
    merged = SampleSource.merged

    def counted(*args: Any) -> Any:
        made[0] += 1
        return merged(*args)

    with patch.object(SampleSource, "merged", counted):
        yield made


def asked(
    queries: QueryEngine, selection: Selection, page: Page, *, by_function: bool | None = True
) -> TableAnswer:
    """The answer; by the functions' own sums, by stacks, or by any (None)."""
    with counting_stacks() as made:
        found = queries.ask(TableQuestion(selection, ("function",), page))
    if by_function is not None:
        assert made[0] == (not by_function)
    return found


PAGES = (
    Page(Sort.SELF_DESC, 100),
    Page(Sort.TOTAL_DESC, 2, 1),
    Page(Sort.TOTAL, 3),
    Page(Sort.NAME, 4, 1),
    Page(Sort.SELF, 2, find="WORK"),
    Page(Sort.NAME_DESC, 3, find_regex="^[mw]"),
)


def check_alike(queries: QueryEngine, selection: Selection, *, by_function: bool | None) -> None:
    """Both ways to answer say the same, page by page, and the chunks what they have of it."""
    for page in PAGES:
        found = asked(queries, selection, page, by_function=by_function)
        with planned(queries, BY_STACKS):
            expected = asked(queries, selection, page, by_function=False)
        check_rows(found, expected)
        check_totals(found, expected)
    with planned(queries, BY_VISITS):
        chunks = queries.ask(TableQuestion(selection, ("function",), PAGES[0]))
    found = asked(queries, selection, PAGES[0], by_function=by_function)
    assert sums(found) == sums(chunks)
    assert found.totals.complete == pytest.approx(chunks.totals.complete)
    assert found.totals.symbolized == pytest.approx(chunks.totals.symbolized)
    assert found.totals.leaf_symbolized == pytest.approx(chunks.totals.leaf_symbolized)


def check_rows(found: TableAnswer, expected: TableAnswer) -> None:
    """The last digits of estimates differ: cells are added up in another order."""
    assert found.rows_total == expected.rows_total
    one, two = found.remainder, expected.remainder
    assert (one.rows, one.self) == (two.rows, two.self)
    assert one.self_share == pytest.approx(two.self_share, rel=1e-9, abs=1e-12)
    assert [row.function_id for row in found.rows] == [row.function_id for row in expected.rows]
    for row, other in zip(found.rows, expected.rows, strict=True):
        assert (row.key, row.self, row.total) == (other.key, other.self, other.total)
        assert (row.visits, row.machines) == (other.visits, other.machines)
        assert (row.self_share, row.total_share) == pytest.approx(
            (other.self_share, other.total_share), rel=1e-9, abs=1e-12
        )
        assert estimates(row) == pytest.approx(estimates(other), rel=1e-9, abs=1e-9)


SHARES = ("kept", "symbolized", "leaf_symbolized", "complete")
EXACT = {field.name for field in fields(Totals)} - {*SHARES, "core_seconds", "cores", "estimate"}


def check_totals(found: TableAnswer, expected: TableAnswer) -> None:
    for name in EXACT:
        assert getattr(found.totals, name) == getattr(expected.totals, name), name
    for name in SHARES:
        assert getattr(found.totals, name) == pytest.approx(getattr(expected.totals, name), rel=1e-12), name
    if expected.totals.estimate is None:
        assert found.totals.estimate is None
    else:
        assert interval(found.totals.estimate) == pytest.approx(interval(expected.totals.estimate), rel=1e-9)


def check_applications(queries: QueryEngine, selection: Selection) -> None:
    """A table by application says without its stacks what it says with them, and what each function's sums say together."""
    question = TableQuestion(selection, ("application",), PAGES[0])
    with counting_stacks() as made:
        found = queries.ask(question)
    assert made[0] == 0
    with planned(queries, BY_STACKS), counting_stacks() as made:
        expected = queries.ask(question)
    assert made[0] == 1
    check_totals(found, expected)
    check_rows(found, expected)


def estimates(row: TableRow) -> list[float | None]:
    """Shares, and totals in nanoseconds."""
    assert row.self_core_seconds is not None
    assert row.total_core_seconds is not None
    return [
        *(row.self_share, row.self_lo, row.self_hi),
        *interval(row.self_core_seconds.scaled(1e9)),
        *(row.total_share, row.total_lo, row.total_hi),
        *interval(row.total_core_seconds.scaled(1e9)),
    ]


def interval(found: Any) -> tuple[float, float, float]:
    return found.value, found.lo, found.hi


def sums(answer: TableAnswer) -> dict[int | None, tuple[int, int]]:
    return {row.function_id: (row.self, row.total) for row in answer.rows}


def seen(*facts: tuple[int, int]) -> list[Seen]:
    """Visits of two days that each bring these (stack, samples), every second one with twice the period."""
    contributions = tuple(("a", stack, samples) for stack, samples in facts)
    return [Seen(hour * HOUR + 5, "east", 0.1, 5.0, contributions) for hour in (25, 26, 27, 50, 51)]


WHEN = (24 * HOUR, 52 * HOUR)
TOO_MUCH = BudgetExceeded("The question needs more.", limit="memory")
