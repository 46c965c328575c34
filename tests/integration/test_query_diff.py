"""GIVEN two selections of a random design WHEN they are compared THEN what changed stands out and chance does not."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import Engine, delete

from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.diff import DiffQuestion
from storage.query.shapes.reliability import ReliabilityQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from storage.schema import function
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration

MIDNIGHT = datetime(2026, 11, 18, 0, 0, tzinfo=UTC)
NAMES = tuple(f"f{i}" for i in range(8))
PERIOD = 10_000_000


def hours(start: float, end: float, **more: str) -> Selection:
    bounds = [(MIDNIGHT + timedelta(hours=h)).isoformat() for h in (start, end)]
    return parse_selection(start=bounds[0], end=bounds[1], **more)


def ingest(
    engine: Engine, hour: int, rates: list[int], *, visits: int, seed: int, campaign: str = "fleet"
) -> None:
    """Visits in one hour, in which each function has samples at its rate, times a load of the visit."""
    random = np.random.default_rng(seed)
    with engine.begin() as connection:
        fleet = Campaign(connection, {"east": 500, "west": 500}, campaign)
        functions = [fleet.write.function(name) for name in NAMES] if not seed % 2 else _known(fleet)
        stacks = [
            fleet.write.stack([functions[0], function][i == 0 :]) for i, function in enumerate(functions)
        ]
        for number in range(visits):
            at = MIDNIGHT + timedelta(hours=hour, seconds=number * 3000 / visits)
            visit = fleet.answer(at, ("east", "west")[number % 2], utilisation=0.5)
            load = random.gamma(4, 0.25)
            counts = [int(random.poisson(rate * load)) for rate in rates]
            fleet.write.profile(
                visit,
                {stack: count for stack, count in zip(stacks, counts, strict=True) if count},
                period=PERIOD,
                labels={"application": "even" if number % 2 == 0 else "odd"},
            )


def _known(fleet: Campaign) -> list[int]:
    from sqlalchemy import select

    c = function.c
    rows = fleet.connection.execute(
        select(c.name, c.function_id).where(c.name.in_(NAMES)).order_by(c.function_id)
    )
    known = dict(tuple(row) for row in rows)
    return [known[name] for name in NAMES]


SAME = [100, 50, 50, 20, 20, 10, 5, 5]


@pytest.mark.slow
def test_what_changed_is_significant_and_what_did_not_is_not(engine: Engine, queries: QueryEngine):
    changed = [*SAME]
    changed[3] = 60
    ingest(engine, 1, SAME, visits=60, seed=2)
    ingest(engine, 2, changed, visits=60, seed=3)
    answer = queries.ask(DiffQuestion(hours(2, 3), hours(1, 2), ("function",), own=True))
    first = answer.rows[0]
    assert first.key["function"] == "f3"
    assert first.significant
    assert first.lo is not None
    assert first.hi is not None
    assert first.lo < 60 / 300 - 20 / 260 < first.hi
    assert first.delta == pytest.approx(first.a_share - first.b_share)
    assert answer.rows_total == len(NAMES)
    assert answer.power is not None
    assert 0 <= answer.power.power <= 1
    assert answer.part == 1
    again = queries.ask(DiffQuestion(hours(2, 3), hours(1, 2), ("function",), own=True))
    assert again == answer, "chance is drawn once"


@pytest.mark.slow
def test_a_comparison_says_that_it_judged_chance_by_a_part(
    engine: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
):
    ingest(engine, 1, SAME, visits=60, seed=2)
    ingest(engine, 2, SAME, visits=60, seed=3)
    monkeypatch.setattr("analysis.diff._WORK", 1_500_000)
    answer = queries.ask(DiffQuestion(hours(2, 3), hours(1, 2), ("function",), own=True))
    assert 0 < answer.part < 1


@pytest.mark.slow
def test_nothing_is_significant_where_nothing_changed(engine: Engine, queries: QueryEngine):
    ingest(engine, 1, SAME, visits=60, seed=4)
    ingest(engine, 2, SAME, visits=30, seed=5)
    rows = queries.ask(DiffQuestion(hours(2, 3), hours(1, 2), ("function",))).rows
    assert not any(row.q is None or row.significant for row in rows)
    swapped = queries.ask(DiffQuestion(hours(1, 2), hours(2, 3), ("function",))).rows
    deltas = {row.key["function"]: row.delta for row in rows}
    assert {row.key["function"]: -row.delta for row in swapped} == pytest.approx(deltas)


def test_a_selection_differs_from_itself_by_nothing(engine: Engine, queries: QueryEngine):
    ingest(engine, 1, SAME, visits=20, seed=6)
    rows = queries.ask(DiffQuestion(hours(1, 2), hours(1, 2), ("function",))).rows
    assert {row.delta for row in rows} == {0.0}
    assert not any(row.q is None or row.significant for row in rows)


def test_rows_that_one_side_lacks_have_no_share_there(engine: Engine, queries: QueryEngine):
    ingest(engine, 1, SAME, visits=20, seed=8)
    ingest(engine, 2, [100, 0, 50, 20, 20, 10, 5, 5], visits=20, seed=9)
    rows = {
        r.key["function"]: r for r in queries.ask(DiffQuestion(hours(2, 3), hours(1, 2), ("function",))).rows
    }
    assert rows["f1"].a_share == 0
    assert rows["f1"].b_share > 0.1
    by_label = queries.ask(
        DiffQuestion(hours(1, 2, select='{application="odd"}'), hours(1, 2), ("application",))
    ).rows
    assert {row.key["application"]: row.a_share for row in by_label} == {"odd": 1.0, "even": 0.0}


def test_functions_of_one_name_are_rows_of_their_own(engine: Engine, queries: QueryEngine):
    """Functions that are gone from the dictionary are all called alike; so are files and binaries of several labels."""
    ingest(engine, 1, SAME, visits=20, seed=12)
    with engine.begin() as connection:
        connection.execute(delete(function).where(function.c.name.in_(("f1", "f2"))))
    rows = queries.ask(DiffQuestion(hours(1, 2), hours(1, 2), ("function",), own=True))
    assert rows.rows_total == len(NAMES)
    swept = [row for row in rows.rows if row.key["function"] == "[swept]"]
    assert len({row.function_id for row in swept}) == 2
    assert sum(row.a_share for row in rows.rows) == pytest.approx(1)
    assert sum(row.b_share for row in rows.rows) == pytest.approx(1)


@pytest.mark.parametrize("by", [("file", "binary"), ("binary",), ("application", "file", "binary")])
def test_rows_of_files_are_the_same_on_both_sides(engine: Engine, queries: QueryEngine, by: tuple[str, ...]):
    """Each selection has functions that the other lacks, so what is numbered in it is numbered otherwise."""
    with engine.begin() as connection:
        fleet = Campaign(connection, {"east": 50})
        f = [fleet.write.function(f"f{n}", file=f"{n % 3}.c", binary=f"b{n % 2}") for n in range(6)]
        for hour, ids in ((1, f[:4]), (2, f[1:])):
            visit = fleet.answer(MIDNIGHT + timedelta(hours=hour), "east")
            stacks = {fleet.write.stack([id_]): 1 for id_ in ids}
            fleet.write.profile(visit, stacks, labels={"application": "a"}, period=PERIOD)
    found = queries.ask(DiffQuestion(hours(1, 2), hours(2, 3), by, own=True)).rows

    def share(ids: range, key: dict[str, str]) -> float:
        mine = [
            n for n in ids if key.get("file", f"{n % 3}.c") == f"{n % 3}.c" and key["binary"] == f"b{n % 2}"
        ]
        return len(mine) / len(ids)

    assert len(found) == (2 if by == ("binary",) else 6)
    for row in found:
        assert row.a_share == pytest.approx(share(range(4), row.key))
        assert row.b_share == pytest.approx(share(range(1, 6), row.key))


def test_observations_are_compared_without_evidence(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        fleet = Campaign(connection, {"east": 1}, "by-hand")
        stack = fleet.write.stack([fleet.write.function("f")])
        fleet.write.profile(fleet.write.visit("m", MIDNIGHT, campaign_name="by-hand"), {stack: 3})
    selection = hours(0, 1, campaign="by-hand")
    answer = queries.ask(DiffQuestion(selection, selection, ("function",)))
    assert answer.power is None
    assert [(row.a_share, row.lo, row.hi, row.p, row.q, row.significant) for row in answer.rows] == [
        (1.0, None, None, None, None, False)
    ]
    reliability = queries.ask(ReliabilityQuestion(selection, ("function",)))
    assert (reliability.entropy, reliability.manhattan, reliability.fit) == (None, None, None)


@pytest.mark.slow
def test_reliability_of_alike_visits_is_high_and_converges(engine: Engine, queries: QueryEngine):
    ingest(engine, 1, SAME, visits=64, seed=10)
    found = queries.ask(ReliabilityQuestion(hours(1, 2), ("function",)))
    shares = np.array(SAME) / sum(SAME)
    assert found.entropy is not None
    assert found.entropy.value == pytest.approx(-(shares * np.log(shares)).sum(), abs=0.05)
    assert found.manhattan is not None
    assert 0 < found.manhattan.value < 0.2
    assert found.fit is not None
    assert found.fit.exponent == pytest.approx(-0.5, abs=0.25)
    assert len(found.fit.points) >= 3


@pytest.mark.slow
def test_reliability_counts_visits_that_have_the_selection(engine: Engine, queries: QueryEngine):
    ingest(engine, 1, [0, *SAME[1:-1], 0], visits=40, seed=12)
    ingest(engine, 2, SAME, visits=10, seed=13)
    every = queries.ask(ReliabilityQuestion(hours(1, 3), ("function",)))
    assert every.fit is not None
    assert every.fit.visits == every.totals.visits_ingested == 50
    some = queries.ask(ReliabilityQuestion(hours(1, 3, focus="^f7$"), ("function",)))
    assert some.totals.visits_ingested == 50
    table = queries.ask(TableQuestion(hours(1, 3, focus="^f7$"), ("function",), Page()))
    visits = next(row.visits for row in table.rows if row.key["function"] == "f7")
    assert visits is not None
    assert 8 <= visits <= 10
    assert some.fit is not None
    assert some.fit.visits == visits


def test_reliability_of_what_one_visit_has_is_not_known(engine: Engine, queries: QueryEngine):
    ingest(engine, 1, [*SAME[:-1], 0], visits=39, seed=14)
    ingest(engine, 2, SAME, visits=1, seed=15)
    found = queries.ask(ReliabilityQuestion(hours(1, 3, focus="^f7$"), ("function",)))
    assert (found.entropy, found.manhattan, found.fit) == (None, None, None)
