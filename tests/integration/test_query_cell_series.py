"""GIVEN visits ingested, reprocessed, merged or waiting WHEN they are asked step by step THEN cells say what chunks say."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from storage import partitions
from storage.query.answers.series import PointRow, SeriesRows
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.series import SeriesQuestion
from storage.query.shapes.table import TableQuestion
from storage.rollup.compact import compact
from tests.access_paths import BY_CELLS, BY_VISITS, planned
from tests.fact_writer import FactWriter
from tests.integration.test_query_cells import DAY, HOUR, MIDNIGHT, Store, a_step, a_visit, minutes
from tests.rollup_store import Seen

pytestmark = [pytest.mark.integration, pytest.mark.slow]

LATE = datetime(2027, 1, 1, tzinfo=UTC)
MERGED = {"cells", "mixed"}


@pytest.fixture
def queries(engine: Engine) -> Iterator[QueryEngine]:
    made = QueryEngine(engine)
    made.planner = BY_CELLS
    yield made
    made.close()


def by_chunks(queries: QueryEngine, question: SeriesQuestion) -> SeriesRows:
    with planned(queries, BY_VISITS):
        return queries.ask(question)


def check_alike(queries: QueryEngine, question: SeriesQuestion, *, path: set[str] = MERGED) -> SeriesRows:
    """The series is that of the chunks, and came from where it should."""
    one, two = queries.ask(question), by_chunks(queries, question)
    assert one.totals.path in path
    assert two.totals.path == "chunks"
    assert one.steps == two.steps
    assert one.lines_total == two.lines_total
    check_line(one.whole, two.whole)
    # Rows that weigh the same come in any order, and of those at the end some are missing.
    lines = {tuple(line.key.values()): line for line in two.rows}
    for line in one.rows:
        other = lines[tuple(line.key.values())]
        assert line.function_id == other.function_id
        check_line(line.points, other.points)
    assert len(one.rows) == len(two.rows)
    assert (one.remainder is None) == (two.remainder is None)
    for rest, other_rest, whole in zip(one.remainder or (), two.remainder or (), two.whole, strict=False):
        assert rest.units == other_rest.units
        if rest.core_seconds is None or other_rest.core_seconds is None:
            assert rest.core_seconds is other_rest.core_seconds
            assert rest.share is other_rest.share
            continue
        assert whole.core_seconds is not None
        size = whole.core_seconds.value
        assert rest.core_seconds.value == pytest.approx(other_rest.core_seconds.value, abs=1e-9 * size)
        assert (rest.share is None) == (other_rest.share is None)
        assert rest.share is None or rest.share == pytest.approx(other_rest.share, abs=1e-9)
    return one


def check_line(found: Sequence[PointRow], expected: Sequence[PointRow]) -> None:
    for point, other in zip(found, expected, strict=True):
        assert point.units == other.units
        assert point.visits in {None, other.visits}
        assert values(point) == pytest.approx(values(other), rel=1e-9, abs=1e-9)
        assert bounds(point) == pytest.approx(bounds(other), rel=1e-5, abs=1e-9)
        assert (point.core_seconds is None) == (other.core_seconds is None)
        assert point.low_confidence == other.low_confidence


def values(point: PointRow) -> list[float]:
    if point.core_seconds is None:
        assert point.share is None
        return []
    return [-1.0 if point.share is None else point.share, point.core_seconds.value * 1e9]


def bounds(point: PointRow) -> list[float]:
    """The ends of the intervals: less exact than values, because a variance is the difference of two sums.

    Sums in another order have moved an end by 1.3e-8 of it, where two visits differ little.
    """
    if point.core_seconds is None:
        return []
    units = point.core_seconds.scaled(1e9)
    return [-1.0 if end is None else end for end in (point.lo, point.hi, units.lo, units.hi)]


def value(points: Sequence[PointRow]) -> float:
    return sum(point.core_seconds.value for point in points if point.core_seconds)


def questions(selection: Selection, step_s: int) -> Iterator[SeriesQuestion]:
    yield SeriesQuestion(selection, step_s=step_s)
    for own in (True, False):
        yield SeriesQuestion(selection, ("function",), limit=10, step_s=step_s, own=own)
    yield SeriesQuestion(selection, ("application",), limit=10, step_s=step_s)


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],  # shrinking takes minutes, and a database
)
@given(
    first=st.lists(a_visit, min_size=1, max_size=8),
    steps=st.lists(a_step, max_size=5),
    when=st.tuples(
        st.integers(19, 30),
        st.integers(7, 40),
        st.sampled_from([0, 17]),
        st.sampled_from([3600, 6 * 3600, 86_400, 7 * 86_400]),
    ),
)
def test_cells_and_what_waits_to_be_merged_say_what_all_chunks_say(
    engine: Engine, queries: QueryEngine, first: Any, steps: Any, when: tuple[int, int, int, int]
) -> None:
    store = Store(engine, f"c{uuid4().hex}")
    store.ingest(first)
    for step, argument in steps:
        match step:
            case "ingest":
                store.ingest(argument)
            case "reprocess":
                store.ingest_again(*argument)
            case _:
                store.rollup(argument)
    start, hours, shift, step_s = when
    low, high = start * HOUR + shift, (start + hours) * HOUR + shift
    for _ in range(2):
        for question in questions(minutes(low, high, campaign=store.campaign), step_s):
            check_alike(queries, question)
        one = minutes(low, high, campaign=store.campaign, select='{application="a"}')
        for question in questions(one, step_s):
            check_alike(queries, question, path={*MERGED, "chunks"})
        store.roll_all()


def seen(days: Sequence[int]) -> list[Seen]:
    return [
        Seen(day * DAY + hour * HOUR + 5, stratum, 0.1, 5.0, (("a", 1, 13 + day + hour), ("b", 3, 2 * hour)))
        for day in days
        for hour in (3, 9, 20)
        for stratum in ("east", "west")
    ]


@settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)
@given(
    visits=st.lists(a_visit, min_size=2, max_size=10),
    days=st.tuples(st.integers(-12, -3), st.integers(3, 12)),
    shift=st.sampled_from([0, 5, 65]),
)
def test_closed_days_say_what_all_chunks_say_and_add_up_to_the_table(
    engine: Engine, queries: QueryEngine, visits: Any, days: tuple[int, int], shift: int
) -> None:
    store = Store(engine, f"c{uuid4().hex}")
    store.ingest(visits)
    store.roll_all()
    compact(engine, LATE, most_rows=inf)
    low, high = (day * DAY + shift for day in days)
    selection = minutes(low, high, campaign=store.campaign)
    for question in questions(selection, 86_400):
        found = check_alike(queries, question)
        if not question.by:
            continue
        table = queries.ask(TableQuestion(selection, question.by, Page(Sort.TOTAL_DESC, 100)))
        rows = {tuple(row.key.values()): row for row in table.rows}
        for line in found.rows:
            row = rows[tuple(line.key.values())]
            estimate = row.self_core_seconds if question.own else row.total_core_seconds
            assert estimate is not None
            assert value(line.points) == pytest.approx(estimate.value, rel=1e-9)
            assert sum(point.units for point in line.points) == (row.self if question.own else row.total)
        assert found.totals == table.totals


def test_days_whose_facts_are_gone_still_have_their_steps(engine: Engine, queries: QueryEngine) -> None:
    store = Store(engine, f"c{uuid4().hex}")
    store.ingest(seen(range(-8, 0)))
    store.roll_all()
    compact(engine, LATE, most_rows=inf)
    selection = minutes(-8 * DAY, 0, campaign=store.campaign)
    before = {question: queries.ask(question) for question in questions(selection, 86_400)}
    with engine.begin() as connection:
        partitions.drop(connection, (MIDNIGHT + timedelta(days=-3)).date())
    fresh = QueryEngine(engine)
    fresh.planner = BY_CELLS
    for question, expected in before.items():
        for asked in (queries, fresh):
            found = asked.ask(question)
            assert found.totals.path == "cells"
            assert [step.covered_seconds for step in found.steps] == [
                step.covered_seconds for step in expected.steps
            ]
            check_line(found.whole, expected.whole)
            assert all(point.units for point in found.whole)
            for line, other in zip(found.rows, expected.rows, strict=True):
                assert line.key == other.key
                check_line(line.points, other.points)
        gone = by_chunks(fresh, question)
        assert [point.units > 0 for point in gone.whole] == [False] * 5 + [True] * 3
    fresh.close()


def test_a_part_of_a_day_whose_facts_are_gone_is_not_covered(engine: Engine, queries: QueryEngine) -> None:
    """Of so old a day there are whole days at most: what is left begins at midnight."""
    store = Store(engine, f"c{uuid4().hex}")
    store.ingest(seen(range(-8, 0)))
    store.roll_all()
    compact(engine, LATE, most_rows=inf)
    with engine.begin() as connection:
        partitions.drop(connection, (MIDNIGHT + timedelta(days=-3)).date())
    selection = minutes(-8 * DAY + 4 * HOUR + 30, 0, campaign=store.campaign)
    series = queries.ask(SeriesQuestion(selection, ("function",), step_s=86_400))
    assert series.steps[0].covered_seconds == series.steps[0].visits_drawn == series.whole[0].units == 0
    assert series.whole[0].share is None
    whole = queries.ask(
        SeriesQuestion(minutes(-7 * DAY, 0, campaign=store.campaign), ("function",), step_s=86_400)
    )
    check_line(series.whole[1:], whole.whole)


A_VISIT_ALONE = [
    Seen(
        -DAY + 5 + 8 * number,
        "east",
        0.1,
        5.0,
        (("a", 1, 40 + number), *([("b", 3, 150)] if number == 21 else [])),
    )
    for number in range(50)
]
"""One of fifty visits brought all that the line leaves."""
MANY_ALIKE = [
    Seen(-DAY + 5 + 8 * number, "east", 0.1, 5.0, tuple((name, 1, 40 + number) for name in "abcdef"))
    for number in range(50)
]


@pytest.mark.parametrize(
    ("visits", "days", "low_confidence"),
    [(seen(range(-4, 0)), 4, None), (A_VISIT_ALONE, 1, True), (MANY_ALIKE, 1, False)],
    ids=["a few visits", "a visit alone", "many alike"],
)
def test_the_remainder_of_cells_has_an_interval_no_narrower_than_that_of_visits(
    engine: Engine, queries: QueryEngine, visits: Sequence[Seen], days: int, low_confidence: bool | None
) -> None:
    store = Store(engine, f"c{uuid4().hex}")
    store.ingest(visits)
    store.roll_all()
    selection = minutes(-days * DAY, 0, campaign=store.campaign)
    for limit in (1, 2):
        question = SeriesQuestion(selection, ("application",), limit=limit, step_s=86_400)
        found, expected = queries.ask(question), by_chunks(queries, question)
        assert found.totals.path == "cells"
        assert found.remainder is not None
        assert expected.remainder is not None
        for point, other in zip(found.remainder, expected.remainder, strict=True):
            assert (point.units, point.visits) == (other.units, None)
            if point.core_seconds is None or other.core_seconds is None or not other.units:
                continue
            assert point.low_confidence >= other.low_confidence
            assert low_confidence in {None, point.low_confidence}
            for lo, their_lo, hi, their_hi in (
                (point.core_seconds.lo, other.core_seconds.lo, point.core_seconds.hi, other.core_seconds.hi),
                (point.lo, other.lo, point.hi, other.hi),
            ):
                assert lo <= their_lo * (1 + 1e-9)
                assert hi >= their_hi * (1 - 1e-9)


def test_visits_of_functions_that_became_one_since_are_not_told(engine: Engine, queries: QueryEngine) -> None:
    """Which of them had both cells do not know, so that their sum may be more than there are."""
    store = Store(engine, f"c{uuid4().hex}")
    store.ingest(
        [Seen(-DAY + 5 + hour * HOUR, "east", 0.1, 5.0, (("a", 2, 9), ("a", 6, 5))) for hour in range(9)]
    )
    store.roll_all()
    main, _, wait, read = store.functions
    with engine.begin() as connection:
        FactWriter(connection).alias(read, wait)
    question = SeriesQuestion(
        minutes(-DAY, 0, campaign=store.campaign), ("function",), step_s=86_400, own=False
    )
    found = check_alike(queries, question, path={"cells"})
    told = {line.function_id: line.points[0].visits for line in found.rows}
    assert (told[main], told[wait]) == (9, None)


def test_of_the_whole_alone_no_functions_are_unpacked(engine: Engine, queries: QueryEngine) -> None:
    """Cells of one application are not kept."""
    store = Store(engine, f"c{uuid4().hex}")
    store.ingest(seen(range(-3, 0)))
    store.roll_all()
    one = minutes(-3 * DAY, 0, campaign=store.campaign, select='{application="a"}')
    for step_s in (3600, 86_400):
        with patch("storage.query.cells.chosen_cells.ChosenCells._read", side_effect=AssertionError):
            check_alike(queries, SeriesQuestion(one, step_s=step_s), path={"cells"})


def test_what_cells_cannot_tell_comes_from_chunks(engine: Engine, queries: QueryEngine) -> None:
    store = Store(engine, f"c{uuid4().hex}")
    store.ingest(seen(range(-3, 0)))
    store.roll_all()
    whole = minutes(-3 * DAY, 0, campaign=store.campaign)
    plain = SeriesQuestion(whole, ("function",), step_s=86_400)
    assert queries.ask(plain).totals.path == "cells"
    for question in (
        replace(plain, by=("version",)),
        replace(plain, by=("application", "function")),
        replace(plain, step_s=5400),
        replace(plain, selection=minutes(-3 * DAY, 0, campaign=store.campaign, focus="work")),
    ):
        assert queries.ask(question).totals.path == "chunks"


def test_squares_that_are_kept_serve_the_next_question(engine: Engine, queries: QueryEngine) -> None:
    store = Store(engine, f"c{uuid4().hex}")
    store.ingest(seen(range(-5, 0)))
    store.roll_all()
    question = SeriesQuestion(
        minutes(-5 * DAY, 0, campaign=store.campaign), ("function",), step_s=86_400, own=False
    )
    first = queries.ask(replace(question, limit=1))
    with patch("storage.query.cells.chosen_cells.ChosenCells._read", side_effect=AssertionError):
        again = queries.ask(replace(question, limit=1))
    check_line(again.rows[0].points, first.rows[0].points)
    check_alike(queries, question)
    store.ingest_again(0, [("a", 1, 50)])
    check_alike(queries, question)
    store.roll_all()
    check_alike(queries, question)
