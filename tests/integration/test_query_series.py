"""Series of a store against counting its facts one by one, and against the table of the whole time."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from storage.errors import BadSelection
from storage.query.answers.series import PointRow, SeriesStep
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time
from storage.query.shapes.series import SeriesQuestion
from storage.query.shapes.table import TableQuestion
from tests.brute_force_fleet import CountedFleet, Sampled, write_fleet
from tests.fact_writer import FactWriter

pytestmark = pytest.mark.integration

START = datetime(2026, 11, 17, 22, 10, tzinfo=UTC)
WHOLE = Selection(START, START + timedelta(hours=5))
"""Over midnight: visits of two days weigh differently."""


@pytest.fixture(scope="module")
def fleet(module_engine: Engine) -> CountedFleet:
    with module_engine.begin() as connection:
        return write_fleet(connection, START, hours=5, visits=90)


@pytest.fixture(scope="module")
def queries(module_engine: Engine):
    made = QueryEngine(module_engine)
    yield made
    made.close()


def units(points: tuple[PointRow, ...]) -> list[int]:
    return [point.units for point in points]


def value(points: tuple[PointRow, ...]) -> float:
    return sum(point.core_seconds.value for point in points if point.core_seconds)


def observed(step: SeriesStep, units: int, share: float | None, visits: int) -> PointRow:
    """A point without estimates."""
    return PointRow(
        start=step.start,
        units=units,
        seconds=units * 1e-9,
        share=share,
        lo=None,
        hi=None,
        core_seconds=None,
        cores=None,
        low_confidence=False,
        visits=visits,
    )


@pytest.mark.slow
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("by", [("function",), ("application",), ("version", "function")])
def test_points_are_those_of_the_facts_and_add_up_to_the_table(
    fleet: CountedFleet, queries: QueryEngine, by: tuple[str, ...], own: bool
):
    series = queries.ask(SeriesQuestion(WHOLE, by, limit=3, step_s=3600, own=own))
    assert [step.start for step in series.steps] == [
        format_time(START.replace(minute=0) + timedelta(hours=n)) for n in range(6)
    ]
    assert [step.partial for step in series.steps] == [True, *[False] * 4, True]
    assert [step.covered_seconds for step in series.steps] == [3000, *[3600] * 4, 600]
    assert sum(step.visits_drawn for step in series.steps) == 90

    def keys(fact: Sampled) -> set[tuple[str, ...]]:
        functions = {fact.stack[-1]} if own else set(fact.stack)
        return {tuple(fact.labels.get(key, function) for key in by) for function in functions}

    counted: Counter = Counter()
    for fact in fleet.facts:
        hour = (fact.drawn_at - START.replace(minute=0)) // timedelta(hours=1)
        counted["whole", hour] += fact.units
        counted.update({(key, hour): fact.units for key in keys(fact)})
    assert units(series.whole) == [counted["whole", hour] for hour in range(6)]
    table = queries.ask(TableQuestion(WHOLE, by))
    assert series.lines_total == table.rows_total
    rows = {tuple(row.key[key] for key in by): row for row in table.rows}
    heaviest = sorted(-(row.self_share if own else row.total_share) for row in rows.values())[:3]
    for line, share in zip(series.rows, heaviest, strict=True):
        key = tuple(line.key[name] for name in by)
        assert units(line.points) == [counted[key, hour] for hour in range(6)]
        row = rows[key]
        estimate = row.self_core_seconds if own else row.total_core_seconds
        assert estimate is not None
        assert value(line.points) == pytest.approx(estimate.value)
        assert (row.self_share if own else row.total_share) == pytest.approx(-share)
    assert series.totals.core_seconds is not None
    assert value(series.whole) == pytest.approx(series.totals.core_seconds.value)
    if series.remainder is None:
        assert not own
        assert "function" in by
        return
    for hour, rest in enumerate(series.remainder):
        assert rest.units == series.whole[hour].units - sum(line.points[hour].units for line in series.rows)
    assert value((*series.remainder, *(p for line in series.rows for p in line.points))) == pytest.approx(
        series.totals.core_seconds.value
    )


def test_shares_are_of_the_step_with_its_own_interval(fleet: CountedFleet, queries: QueryEngine):
    focused = Selection(WHOLE.start, WHOLE.end, focus="malloc")
    series = queries.ask(SeriesQuestion(focused, step_s=3600))
    for number, point in enumerate(series.whole):
        low = max(datetime.fromisoformat(series.steps[number].start), WHOLE.start)
        high = min(datetime.fromisoformat(series.steps[number].end), WHOLE.end)
        hour = queries.ask(SeriesQuestion(WHOLE, step_s=3600)).whole[number]
        inside = [fact for fact in fleet.facts if low <= fact.drawn_at < high]
        assert hour.units == fleet.units(inside)
        if not inside:
            assert (point.share, point.core_seconds, point.cores) == (None, None, None)
            continue
        assert point.units == fleet.units(fact for fact in inside if "malloc" in fact.stack)
        assert point.core_seconds is not None
        assert point.lo <= point.share <= point.hi
        assert hour.share == 1


def test_time_without_visits_has_no_figures(fleet: CountedFleet, queries: QueryEngine):
    wide = Selection(START - timedelta(hours=2), WHOLE.end + timedelta(hours=2))
    series = queries.ask(SeriesQuestion(wide, ("function",), step_s=3600))
    empty = [number for number, step in enumerate(series.steps) if not step.covered_seconds]
    assert empty == [0, 1, 8, 9]
    for line in series.lines:
        for number in empty:
            assert line.points[number] == observed(series.steps[number], 0, None, 0)


def test_visits_by_hand_are_observed_and_not_estimated(module_engine: Engine, queries: QueryEngine):
    with module_engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function("main")])
        write.profile(write.visit("m", START, campaign_name="hand"), {stack: 3}, period=10)
    selection = Selection(WHOLE.start, WHOLE.end, campaign="hand")
    series = queries.ask(SeriesQuestion(selection, ("function",), step_s=3600))
    assert series.rows[0].points[0] == observed(series.steps[0], 30, 1.0, 1)
    assert [step.covered_seconds for step in series.steps] == [0] * 6


def test_time_without_samples_has_steps_and_no_lines(fleet: CountedFleet, queries: QueryEngine):
    empty = Selection(START - timedelta(days=2), START - timedelta(days=1))
    series = queries.ask(SeriesQuestion(empty, ("function",)))
    assert series.rows == ()
    assert len(series.steps) <= 100
    assert all(point.share is None for point in series.whole)
    with pytest.raises(BadSelection, match="18,000 points"):
        queries.ask(SeriesQuestion(WHOLE, step_s=1))
    with pytest.raises(BadSelection, match="50 rows of 900 points"):
        queries.ask(SeriesQuestion(WHOLE, ("function",), limit=50, step_s=20))
