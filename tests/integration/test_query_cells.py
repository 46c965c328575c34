"""GIVEN visits ingested, reprocessed, merged or waiting WHEN a selection is queried THEN cells and chunks give the same answer."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import inf
from unittest.mock import patch
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select, text

from storage import partitions
from storage.query.access_path import Planner
from storage.query.cells.delta_visits import read_facts
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.table import TableQuestion
from storage.rollup.compact import compact
from storage.schema import function
from tests.access_paths import BY_CELLS, BY_VISITS, planned
from tests.fact_writer import FactWriter
from tests.rollup_store import RolledStore, Seen
from tests.table_estimates import with_estimates
from tests.usable_buckets import usable_buckets

pytestmark = [pytest.mark.integration, pytest.mark.slow]

MIDNIGHT = datetime(2026, 11, 18, 0, 0, tzinfo=UTC)
SIZES = {"east": 100, "west": 40}
NAMES = ("main", "work", "wait", "read")
STACKS = ((0,), (0, 1), (0, 2), (0, 1, 1), (0, 2, 1), (0, 1, 3), (3,))
HOUR = 60
DAY = 24 * HOUR


facts = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, len(STACKS) - 1), st.integers(1, 200)), max_size=5
).map(tuple)
a_visit = st.builds(
    Seen,
    minute=st.integers(20 * HOUR, 2 * DAY + 4 * HOUR),
    stratum=st.sampled_from(sorted(SIZES)),
    utilisation=st.sampled_from([None, 0.1, 0.9]),
    seconds=st.sampled_from([5.0, 2.5]),
    facts=facts,
)
a_step = st.one_of(
    st.tuples(st.just("ingest"), st.lists(a_visit, min_size=1, max_size=6)),
    st.tuples(st.just("reprocess"), st.tuples(st.integers(0, 50), facts)),
    st.tuples(st.just("roll"), st.integers(1, 6)),
)


@pytest.fixture
def queries(engine: Engine) -> Iterator[QueryEngine]:
    made = QueryEngine(engine)
    made.planner = BY_CELLS
    yield made
    made.close()


def minutes(start: int, end: int, **more: str) -> Selection:
    bounds = [(MIDNIGHT + timedelta(minutes=m)).isoformat() for m in (start, end)]
    return parse_selection(start=bounds[0], end=bounds[1], **more)


class Store(RolledStore):
    """Of the functions and stacks above."""

    def __init__(self, engine: Engine, campaign: str) -> None:
        super().__init__(
            engine,
            campaign,
            sizes=SIZES,
            functions=lambda write: [write.function(name, binary="prog") for name in NAMES],
            stacks=STACKS,
            midnight=MIDNIGHT,
        )


def check_alike(queries: QueryEngine, selection: Selection, by: str, *, path: set[str]) -> None:
    """The answer is the same as by the chunks of all visits, and came from where it should."""
    page = Page(Sort.TOTAL_DESC, 100)
    found, behind = with_estimates(queries.ask, TableQuestion(selection, (by,), page))
    flame = queries.ask(FlameTreeQuestion(selection, 1000)) if by == "function" else None
    with planned(queries, BY_VISITS):
        expected, others_behind = with_estimates(queries.ask, TableQuestion(selection, (by,), page))
        expected_flame = queries.ask(FlameTreeQuestion(selection, 1000)) if by == "function" else None
    assert expected.totals.path == "chunks"
    assert found.totals.path in path
    for name in ("samples", "units", "visits", "profiles"):
        assert getattr(found.totals, name) == getattr(expected.totals, name), name
    assert found.totals.visits_drawn == expected.totals.visits_drawn
    assert found.totals.visits_ingested == expected.totals.visits_ingested
    assert found.totals.covered_seconds == expected.totals.covered_seconds
    assert found.totals.estimated_seconds == expected.totals.estimated_seconds
    assert found.totals.uncovered_share == pytest.approx(expected.totals.uncovered_share)
    assert numbers(found.totals.estimate) == (
        expected.totals.estimate and pytest.approx(numbers(expected.totals.estimate), rel=1e-6)
    )
    rows, others = ({tuple(row.key.values()): row for row in a.rows} for a in (found, expected))
    assert rows.keys() == others.keys()
    for key, row in rows.items():
        other = others[key]
        assert (row.self, row.total, row.visits) == (other.self, other.total, other.visits), key
        shares = (row.self_share, row.total_share)
        assert shares == pytest.approx((other.self_share, other.total_share), rel=1e-9, abs=1e-15)
        for one, two in (
            (row.self_core_seconds, other.self_core_seconds),
            (row.total_core_seconds, other.total_core_seconds),
        ):
            assert one is not None
            assert two is not None
            assert numbers(one.scaled(1e9)) == pytest.approx(numbers(two.scaled(1e9)), rel=1e-5, abs=1e-3)
        own, others_own = ((of.self_share, of.self_lo, of.self_hi) for of in (row, other))
        total, others_total = ((of.total_share, of.total_lo, of.total_hi) for of in (row, other))
        assert None not in own + total
        assert own == pytest.approx(others_own, rel=1e-5, abs=1e-7)
        assert total == pytest.approx(others_total, rel=1e-5, abs=1e-7)
        assert row.low_confidence == other.low_confidence
        for one, two in zip(behind[key], others_behind[key], strict=True):
            assert one is not None
            assert two is not None
            assert numbers(one.share) == pytest.approx(numbers(two.share), rel=1e-5, abs=1e-7)
            assert one.low_confidence == two.low_confidence
    if flame is not None and expected_flame is not None:
        assert paths(flame) == pytest.approx(paths(expected_flame), rel=1e-9)
        assert flame.flame.total[0] == found.totals.units


def numbers(interval) -> tuple[float, float, float] | None:
    return interval and (interval.value, interval.lo, interval.hi)


def paths(answer) -> dict[tuple[str, ...], float]:
    flame, found = answer.flame, []
    for parent, index in zip(flame.parent.tolist(), flame.function.tolist(), strict=True):
        found.append(() if parent < 0 else (*found[parent], flame.functions[index].name))
    return dict(zip(found, flame.total_weight.tolist(), strict=True))


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],  # shrinking takes minutes, and a database
)
@given(
    first=st.lists(a_visit, min_size=1, max_size=8),
    steps=st.lists(a_step, max_size=6),
    when=st.tuples(st.integers(19, 30), st.integers(1, 34), st.sampled_from([0, 17])),
)
def test_cells_and_what_waits_say_what_all_chunks_say(
    engine: Engine, queries: QueryEngine, first, steps, when: tuple[int, int, int]
):
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
    merged = {"cells", "mixed"}
    start, hours, shift = when
    low, high = start * HOUR + shift, (start + hours) * HOUR + shift
    path = merged if not shift or hours > 6 else {"chunks"}
    campaign = store.campaign
    for _ in range(2):
        check_alike(queries, minutes(low, high, campaign=campaign), "function", path=path)
        check_alike(queries, minutes(low, high, campaign=campaign), "application", path=path)
        one = minutes(low, high, campaign=campaign, select='{application="a"}')
        known = {"a"} & {application for seen in first for application, _, _ in seen.facts}
        check_alike(queries, one, "function", path=path if known else {"chunks", *merged})
        check_alike(queries, one, "application", path=path if known else {"chunks", *merged})
        store.roll_all()
        path = {"cells"} if not shift else path


@settings(
    max_examples=3,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)
@given(
    visits=st.lists(a_visit, min_size=2, max_size=10),
    late=st.tuples(st.lists(a_visit, min_size=1, max_size=3), facts),
    days=st.tuples(st.integers(-12, -3), st.integers(3, 12)),
)
def test_closed_days_say_what_all_chunks_say(
    engine: Engine, queries: QueryEngine, visits, late, days: tuple[int, int]
):
    store = Store(engine, f"c{uuid4().hex}")
    store.ingest(visits)
    store.roll_all()
    compact(engine, datetime(2027, 1, 1, tzinfo=UTC), most_rows=inf)
    selection = {"campaign": store.campaign}
    low, high = (day * DAY for day in days)

    def check(path: set[str]) -> None:
        for shift in (0, 5):
            wide = minutes(low + shift, high + shift, **selection)
            check_alike(queries, wide, "function", path=path)
            check_alike(queries, wide, "application", path=path)
        one = minutes(low, high, **selection, select='{application="a"}')
        check_alike(queries, one, "function", path={*path, "chunks"})

    check({"cells"})
    store.ingest(late[0])
    store.ingest_again(0, late[1])
    check({"mixed", "cells"})
    store.roll_all()
    check({"cells"})
    compact(engine, datetime(2027, 1, 1, tzinfo=UTC), most_rows=inf)
    check({"cells"})


LATE_CHANGES = {
    "visits fail late": "UPDATE coverage SET drawn = drawn + 3 WHERE hour = :hour AND utilisation_class = 2",
    "there were more machines": "UPDATE coverage SET population = 7 * population WHERE hour = :hour",
    "rounds are noted late": "INSERT INTO covered_time SELECT campaign_id, CAST(:at AS timestamptz) + interval '20 min', CAST(:at AS timestamptz) + interval '50 min' FROM campaign",
}


@pytest.mark.parametrize("change", LATE_CHANGES.values(), ids=LATE_CHANGES)
def test_closed_days_follow_weights_that_change_behind_compaction(
    engine: Engine, queries: QueryEngine, change: str
):
    """Closed days once answered 7.8 times too much: what changed their coverage did not delete their buckets."""
    store = Store(engine, "fleet")
    days = range(-8, 8)
    store.ingest(
        [
            Seen(day * DAY + n, place, 0.3 * (n // 2), 5.0, (("a", n, 3 + day % 3), ("b", 1, 5 + n)))
            for day in days
            for n, place in enumerate(("east", "east", "west", "west", "east", "east"))
        ]
    )
    store.roll_all()
    compact(engine, datetime(2027, 1, 1, tzinfo=UTC))
    whole = minutes(min(days) * DAY, (max(days) + 1) * DAY)
    one = minutes(min(days) * DAY, (max(days) + 1) * DAY, select='{application="a"}')

    def check() -> float:
        check_alike(queries, whole, "function", path={"cells"})
        check_alike(queries, whole, "application", path={"cells"})
        check_alike(queries, one, "function", path={"cells"})
        totals = queries.ask(TableQuestion(whole, ("function",))).totals
        assert totals.estimate is not None
        return totals.estimate.value

    def usable() -> int:
        with engine.connect() as connection:
            return len(usable_buckets(connection))

    before, built = check(), usable()
    assert built > 0
    hour = int((MIDNIGHT + timedelta(days=1)).timestamp() // 3600)
    with engine.begin() as connection:
        connection.execute(text(change), {"hour": hour, "at": MIDNIGHT + timedelta(days=1)})
    assert usable() < built
    assert check() != pytest.approx(before, rel=1e-3)
    compact(engine, datetime(2027, 1, 1, tzinfo=UTC))
    assert usable() == built
    assert check() != pytest.approx(before, rel=1e-3)


def test_few_visits_are_read_one_by_one(engine: Engine, queries: QueryEngine):
    queries.planner = Planner()
    store = Store(engine, "fleet")
    store.ingest([Seen(60 * HOUR // 2 + n, "east", 0.5, 5.0, (("a", 1, 5),)) for n in range(20)])
    store.roll_all()
    one_hour = minutes(30 * HOUR, 31 * HOUR)
    assert queries.ask(TableQuestion(one_hour, ("function",), Page())).totals.path == "cells", (
        "20 visits are in one cell"
    )
    store.ingest([Seen(31 * HOUR + n, "west", u, 5.0, (("a", 1, 5),)) for n, u in enumerate((0.1, 0.4, 0.6))])
    store.roll_all()
    assert (
        queries.ask(TableQuestion(minutes(31 * HOUR, 32 * HOUR), ("function",), Page())).totals.path
        == "chunks"
    )


def _busy_hour(hour: int, outside: int) -> list[Seen]:
    """Twenty visits in the first minutes, and some in the last ones, all different."""
    inside = [
        Seen(hour * HOUR + n, "east", 0.1, 5.0, (("a", n % 3, 5 + n), ("b", 3, 2 * n + 1))) for n in range(20)
    ]
    return inside + [
        Seen((hour + 1) * HOUR - 1 - n, "east", 0.1, 5.0, (("a", 1, 40),)) for n in range(outside)
    ]


@pytest.mark.parametrize(("outside", "waiting"), [(0, False), (3, False), (3, True)])
def test_a_part_of_an_hour_is_its_cell_without_the_few_visits_outside(
    engine: Engine, queries: QueryEngine, outside: int, waiting: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(engine, "fleet")
    store.ingest([Seen(20 * HOUR + n, "east", 0.1, 5.0, (("a", 1, 9),)) for n in range(0, 10 * HOUR, 20)])
    store.ingest(_busy_hour(30, 0))
    store.roll_all()
    store.ingest(_busy_hour(30, outside)[20:])
    store.ingest_again(40, (("a", 1, 77),))
    if not waiting:
        store.roll_all()
    read: list[int] = []

    def noted(connection, visits, *more):
        read.append(int((visits.sign > 0).sum()))
        return read_facts(connection, visits, *more)

    monkeypatch.setattr("storage.query.cells.rollup_scan.read_facts", noted)
    path = {"mixed"} if waiting or outside else {"cells"}
    for by in ("function", "application"):
        check_alike(queries, minutes(20 * HOUR, 30 * HOUR + 40), by, path=path)
    assert read, "cells were read"
    assert max(read) <= outside + 1, "the visits of the hour were read one by one"


def test_a_part_of_an_hour_with_many_visits_outside_is_read_one_by_one(
    engine: Engine, queries: QueryEngine
) -> None:
    store = Store(engine, "fleet")
    store.ingest([Seen(20 * HOUR + n, "east", 0.1, 5.0, (("a", 1, 9),)) for n in range(0, 10 * HOUR, 20)])
    store.ingest(_busy_hour(30, 15))
    store.roll_all()
    check_alike(queries, minutes(20 * HOUR, 30 * HOUR + 40), "function", path={"mixed"})
    check_alike(queries, minutes(30 * HOUR + 40, 40 * HOUR), "function", path={"mixed", "chunks"})


def test_more_beside_the_cells_than_is_read_is_read_from_chunks(
    engine: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(engine, "fleet")
    store.ingest([Seen(30 * HOUR, "east", 0.5, 5.0, (("a", 1, 5),))])
    store.roll_all()
    store.ingest([Seen(30 * HOUR + n, "east", 0.5, 5.0, (("a", 1, 5),)) for n in range(1, 9)])
    one_hour = minutes(30 * HOUR, 31 * HOUR)
    mixed = queries.ask(TableQuestion(one_hour, ("function",), Page())).totals
    monkeypatch.setattr("storage.query.cells.delta_visits.MAX_BYTES", 200)
    chunks = queries.ask(TableQuestion(one_hour, ("function",), Page())).totals
    assert (mixed.path, chunks.path) == ("mixed", "chunks")
    assert mixed.units == chunks.units > 0


def test_functions_that_became_one_are_one_row_with_an_interval_that_is_wide_enough(
    engine: Engine, queries: QueryEngine
):
    store = Store(engine, "fleet")
    store.ingest(
        [Seen(30 * HOUR + n, "east", 0.5, 5.0, (("a", 1, 5 + n), ("a", 2, 7 - n % 3))) for n in range(12)]
    )
    store.roll_all()
    with engine.begin() as connection:
        ids = dict(tuple(row) for row in connection.execute(select(function.c.name, function.c.function_id)))
        FactWriter(connection).alias(ids["wait"], ids["work"])
    selection = minutes(30 * HOUR, 31 * HOUR)
    found = queries.ask(TableQuestion(selection, ("function",), Page())).rows[0]
    with planned(queries, BY_VISITS):
        expected = queries.ask(TableQuestion(selection, ("function",), Page())).rows[0]
    assert found.key == expected.key
    assert (found.self, found.total, found.self_share) == (expected.self, expected.total, expected.self_share)
    assert found.self_core_seconds is not None
    assert expected.self_core_seconds is not None
    assert found.self_core_seconds.lo <= expected.self_core_seconds.lo * (1 + 1e-9)
    assert found.self_core_seconds.hi >= expected.self_core_seconds.hi * (1 - 1e-9)


@pytest.mark.usefixtures("first_day_gone")
class TestDaysWhoseFactsAreGone:
    """Cells are kept longer than chunks: nobody may be told that a fleet was idle before."""

    @pytest.fixture
    def first_day_gone(self, engine: Engine, queries: QueryEngine) -> None:
        queries.planner = Planner()  # few visits a cell: cells would not be worth reading
        store = Store(engine, "fleet")
        store.ingest([Seen(n * HOUR, "east", 0.5, 5.0, (("a", 1, 5),)) for n in range(0, 48, 3)])
        store.roll_all()
        with engine.begin() as connection:
            assert partitions.drop(connection, MIDNIGHT.date() + timedelta(days=1)) == [MIDNIGHT.date()]

    def test_are_answered_from_cells_whatever_these_save(self, queries: QueryEngine) -> None:
        totals = queries.ask(TableQuestion(minutes(0, 24 * HOUR), ("function",), Page())).totals
        second = queries.ask(TableQuestion(minutes(24 * HOUR, 48 * HOUR), ("function",), Page())).totals
        both = queries.ask(TableQuestion(minutes(0, 48 * HOUR), ("function",), Page())).totals
        assert totals.path == both.path == "cells"
        assert totals.units == second.units > 0
        assert both.units == 2 * second.units

    def test_are_not_covered_where_only_chunks_could_tell(self, queries: QueryEngine) -> None:
        both = queries.ask(TableQuestion(minutes(0, 48 * HOUR, focus="."), ("function",), Page())).totals
        second = queries.ask(
            TableQuestion(minutes(24 * HOUR, 48 * HOUR, focus="."), ("function",), Page())
        ).totals
        assert both.path == second.path == "chunks"
        assert both.selected_seconds == 2 * second.selected_seconds
        assert both.covered_seconds == second.covered_seconds > 0
        assert both.visits_ingested == second.visits_ingested == 8
        assert both.estimate == second.estimate
        gone = queries.ask(TableQuestion(minutes(0, 24 * HOUR, focus="."), ("function",), Page())).totals
        assert gone.covered_seconds == gone.units == 0

    def test_a_part_of_an_hour_of_such_a_day_is_left_out(self, queries: QueryEngine) -> None:
        whole = queries.ask(TableQuestion(minutes(0, 24 * HOUR), ("function",), Page())).totals
        until = queries.ask(TableQuestion(minutes(0, 24 * HOUR - 30), ("function",), Page())).totals
        assert until.visits_ingested == 0, "of the whole day there is a cell, and nothing is said of its part"
        assert until.covered_seconds == until.units == 0
        assert whole.visits_ingested == 8

    def test_a_part_of_such_a_day_is_left_out(self, queries: QueryEngine) -> None:
        whole = minutes(24 * HOUR, 48 * HOUR)
        with patch("storage.query.cells.rollup_scan.HOURS_KEPT_DAYS", -40000):  # hour cells are gone as well
            part = queries.ask(TableQuestion(minutes(7 * HOUR + 30, 48 * HOUR), ("function",), Page())).totals
            second = queries.ask(TableQuestion(whole, ("function",), Page())).totals
        assert part.covered_seconds == second.covered_seconds
        assert part.units == second.units > 0
        assert part.estimate == second.estimate
