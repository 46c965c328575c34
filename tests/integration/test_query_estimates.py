"""GIVEN visits of a random design WHEN a selection is queried THEN every figure equals that of plain Python."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from storage.errors import BadSelection
from storage.query.facts.visit_scan import WHOLE
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from tests.sampled_campaign import Campaign
from tests.weights_oracle import Drawn, weights

pytestmark = pytest.mark.integration

MIDNIGHT = datetime(2026, 11, 18, 0, 0, tzinfo=UTC)
PERIOD = 10_000_000
SIZES = {"east": 100, "west": 40, "north": 7}
NAMES = ("main", "work", "wait")
EVENING = 22 * 60
"""Minute where the visits begin; the third hour is the next day's."""

a_visit = st.builds(
    Drawn,
    minute=st.integers(EVENING, EVENING + 239),
    stratum=st.sampled_from(sorted(SIZES)),
    utilisation=st.sampled_from([None, 0.0, 0.3, 0.6, 1.0]),
    seconds=st.sampled_from([None, 5.0, 2.5]),
    samples=st.tuples(*[st.integers(0, 50)] * 3),
)

a_run = st.tuples(st.integers(EVENING - 90, EVENING + 230), st.integers(1, 150)).map(
    lambda run: (run[0], run[0] + run[1])
)
"""Rounds that followed each other; those of two runs may overlap."""


def drawn_by(rounds: Sequence[tuple[int, int]], minute: int) -> bool:
    """Whether a visit of that minute can be theirs, or that of rounds of which nothing is known."""
    hour = minute // 60 * 60
    of_hour = [(low, high) for low, high in rounds if low < hour + 60 and high > hour]
    return not of_hour or any(low <= minute < high for low, high in of_hour)


def minutes(start: int, end: int, **more: str) -> Selection:
    bounds = [(MIDNIGHT + timedelta(minutes=m)).isoformat() for m in (start, end)]
    return parse_selection(start=bounds[0], end=bounds[1], **more)


def ingest(
    engine: Engine,
    visits: Sequence[Drawn],
    name: str = "fleet",
    rounds: Sequence[tuple[int, int]] = (),
    **event: object,
) -> dict[str, int]:
    """Have the visits drawn, and their samples in main, main;work and main;wait; stratum ids by name."""
    with engine.begin() as connection:
        fleet = Campaign(connection, SIZES, name)
        for low, high in rounds:
            fleet.cover(MIDNIGHT + timedelta(minutes=low), MIDNIGHT + timedelta(minutes=high))
        functions = [fleet.write.function(n, binary=f"bin-{n}") for n in NAMES]
        stacks = [fleet.write.stack([functions[0], *functions[i:][: i > 0]]) for i in range(3)]
        for visit in visits:
            at = MIDNIGHT + timedelta(minutes=visit.minute)
            if visit.seconds is None:
                fleet.fail(at, visit.stratum, utilisation=visit.utilisation)
                continue
            ingested = fleet.answer(
                at, visit.stratum, utilisation=visit.utilisation, seconds=visit.seconds, **event
            )
            samples = {stack: n for stack, n in zip(stacks, visit.samples, strict=True) if n}
            if samples:
                application = {"application": f"app{sum(visit.samples) % 2}"}
                fleet.write.profile(ingested, samples, period=PERIOD, labels=application, **event)
        return {datacenter: id_ for (datacenter, _), id_ in fleet.strata.items()}


@pytest.mark.slow
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],  # shrinking takes minutes, and a database
)
@given(
    visits=st.lists(a_visit, min_size=1, max_size=30),
    start=st.integers(EVENING - 30, EVENING + 100),
    length=st.integers(30, 300),
    rounds=st.lists(a_run, max_size=4, unique_by=lambda run: run[0]),
)
def test_every_figure_is_weighted_as_plain_python_does(
    engine: Engine,
    queries: QueryEngine,
    visits: list[Drawn],
    start: int,
    length: int,
    *,
    rounds: list[tuple[int, int]],
):
    campaign = f"c{uuid4().hex}"
    visits = [visit for visit in visits if drawn_by(rounds, visit.minute)]
    assume(visits)
    numbers = ingest(engine, visits, campaign, rounds)
    end = start + length
    expected = weights(visits, SIZES, numbers, start, end, rounds=rounds)
    own, total, whole = Counter(), Counter(), 0.0
    for i, weight in expected.items():
        main, work, wait = (weight * n * PERIOD for n in visits[i].samples)
        own += Counter(main=main, work=work, wait=wait)
        total += Counter(main=main + work + wait, work=work, wait=wait)
        whole += main + work + wait
    selection = minutes(start, end, campaign=campaign)
    answer = queries.ask(TableQuestion(selection, ("function",), Page()))
    totals = answer.totals
    assert totals.design == "random"
    assert totals.visits_ingested == len(expected)
    assert totals.visits_drawn == sum(start <= visit.minute < end for visit in visits)
    if whole > 0:
        assert answer.totals.estimate.value == pytest.approx(whole)
    else:
        assert answer.totals.estimate is None, "of an event that nobody saw nothing is known"
        assert not answer.rows
    for row in answer.rows:
        name = row.key["function"]
        assert row.self_share == pytest.approx(own[name] / whole)
        assert row.total_share == pytest.approx(total[name] / whole)
        assert row.total_core_seconds.scaled(1e9).value == pytest.approx(total[name])
        for share, lo, hi, core_seconds in (
            (row.self_share, row.self_lo, row.self_hi, row.self_core_seconds),
            (row.total_share, row.total_lo, row.total_hi, row.total_core_seconds),
        ):
            assert lo <= share + 1e-9
            assert share <= hi + 1e-9
            assert core_seconds.lo <= core_seconds.value * (1 + 1e-9)
            assert core_seconds.value <= core_seconds.hi * (1 + 1e-9)
        behind = [visits[i] for i in expected if name == "main" or visits[i].samples[NAMES.index(name)]]
        assert row.visits == sum(any(visit.samples) for visit in behind)
    applications = queries.ask(TableQuestion(selection, ("application",), Page())).rows
    by_application: dict[str, float] = defaultdict(float)
    for i, weight in expected.items():
        by_application[f"app{sum(visits[i].samples) % 2}"] += weight * sum(visits[i].samples) * PERIOD
    for row in applications:
        assert row.self_share == pytest.approx(by_application[row.key["application"]] / whole)
    flame = queries.ask(FlameTreeQuestion(selection, 100)).flame
    assert flame.total_weight[0] == pytest.approx(whole)
    assert flame.self_weight.sum() == pytest.approx(whole)
    focused = minutes(start, end, campaign=campaign, focus="work")
    narrowed = queries.ask(TableQuestion(focused, ("function",), Page()))
    assert narrowed.totals.kept == pytest.approx(own["work"] / whole if whole else 1.0)
    for row in narrowed.rows:
        assert row.total_share == pytest.approx(own["work"] / whole), "shares are of the whole selection"


def test_without_failures_a_second_watched_stands_for_its_share_of_the_stratums_time(
    engine: Engine, queries: QueryEngine
):
    with engine.begin() as connection:
        fleet = Campaign(connection, {"east": 100, "west": 40})
        stack = fleet.write.stack([fleet.write.function("f")])
        start = MIDNIGHT + timedelta(hours=2)
        fleet.answer(MIDNIGHT + timedelta(hours=1), "east")
        for samples in (10, 0, 20):
            visit = fleet.answer(start + timedelta(minutes=samples), "east", seconds=5)
            if samples:
                fleet.write.profile(visit, {stack: samples}, period=PERIOD)
        for minute in (1, 2):
            fleet.write.profile(fleet.answer(start + timedelta(minutes=minute), "west"), {stack: 40})
    answer = queries.ask(TableQuestion(minutes(120, 180), ("function",), Page()))
    expected = 100 * 3600 / 15 * 30 * PERIOD + 40 * 3600 / 10 * 80 * PERIOD
    estimate = answer.totals.estimate
    assert estimate is not None
    assert estimate.value == pytest.approx(expected)
    assert estimate.lo < expected < estimate.hi
    totals = answer.totals
    assert (totals.selected_seconds, totals.covered_seconds, totals.population) == (3600, 3600, 140)
    assert (totals.visits_drawn, totals.visits_ingested, totals.uncovered_share) == (5, 5, 0)
    assert answer.rows[0].visits == 4


def test_time_without_rounds_is_reported_and_not_extrapolated_over(engine: Engine, queries: QueryEngine):
    visits = [Drawn(60 * h + 30, "east", 0.5, 5.0, (10, 0, 0)) for h in (1, 1, 4, 4)]
    ingest(engine, visits, rounds=[(85, 100), (265, 275), (280, 305), (302, 310)])
    totals = queries.ask(TableQuestion(minutes(0, 600), ("function",), Page())).totals
    assert totals.selected_seconds == 600 * 60
    assert totals.covered_seconds == 60 * (15 + 10 + 20), "nothing of the sixth hour, that drew nobody"
    assert totals.estimate.value == pytest.approx(147 * 2700 / 20 * 40 * PERIOD), "the strata are one group"
    assert totals.uncovered_share == 0


def test_a_day_without_ingested_visits_is_reported(engine: Engine, queries: QueryEngine):
    day = 24 * 60
    ingest(engine, [Drawn(0, "east", 0.5, 5.0, (1, 0, 0))] * 2 + [Drawn(day, "east", 0.5, None)])
    totals = queries.ask(TableQuestion(minutes(0, 2 * day), ("function",), Page())).totals
    assert totals.uncovered_share == pytest.approx(0.5)
    assert (totals.visits_drawn, totals.visits_ingested) == (3, 2)


def test_a_gauge_is_averaged_over_time_and_machines_and_never_accumulated(
    engine: Engine, queries: QueryEngine
):
    """Two visits of 1000 and 3000 bytes on a fleet of 147 machines: 147 × 2000 bytes are in use.

    Nothing ingested on the second day, so nothing is said of it.
    """
    from sqlalchemy import insert

    from storage.schema import sample_type

    with engine.begin() as connection:
        connection.execute(insert(sample_type).values(event="heap", unit="bytes", kind="gauge"))
    heap = {"event": "heap", "unit": "bytes"}
    minute = 60
    visits = [Drawn(minute, "east", 0.5, 5.0, (n, 0, 0)) for n in (1, 3)]
    ingest(engine, visits, **heap)
    ingest(engine, [Drawn(24 * 60 + hour * 60, "east", 0.5, None) for hour in range(5)])
    for length in (60, 6000):
        totals = queries.ask(
            TableQuestion(minutes(minute, minute + length, event="heap"), ("function",), Page())
        ).totals
        assert totals.estimate.value == pytest.approx(147 * 2 * PERIOD)


def test_a_campaign_of_visits_by_hand_has_observations_only(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        fleet = Campaign(connection, SIZES, "by-hand")
        stack = fleet.write.stack([fleet.write.function("f")])
        fleet.write.profile(fleet.write.visit("m", MIDNIGHT, campaign_name="by-hand"), {stack: 3})
    answer = queries.ask(TableQuestion(minutes(0, 60, campaign="by-hand"), ("function",), Page()))
    assert answer.totals.design == "none"
    assert answer.totals.estimate is None
    row = answer.rows[0]
    assert (row.self_share, row.self_lo, row.self_hi, row.self_core_seconds) == (1.0, None, None, None)
    assert (row.total_lo, row.total_hi, row.total_core_seconds) == (None, None, None)
    flame = queries.ask(FlameTreeQuestion(minutes(0, 60, campaign="by-hand"), 10)).flame
    assert flame.total_weight.tolist() == flame.total.tolist()
    assert set(flame.effective) == {None}


@pytest.mark.slow
def test_totals_are_right_on_average_when_busy_machines_fail_more_often(engine: Engine, queries: QueryEngine):
    """Half of the visits of busy machines fail; without classes the fleet's CPU would be 17 % too small."""
    random = np.random.default_rng(20261118)
    found = []
    for _ in range(12):
        visits = []
        for _ in range(60):
            busy = bool(random.random() < 0.5)
            failed = busy and random.random() < 0.5
            samples = (400 if busy else 100) + int(random.integers(0, 20))
            minute = 60 + int(random.integers(0, 120))
            visits.append(
                Drawn(minute, "east", 0.9 if busy else 0.1, None if failed else 5.0, (samples, 0, 0))
            )
        campaign = f"c{uuid4().hex}"
        ingest(engine, [Drawn(0, "east", 0.1, 5.0, (1, 0, 0)), *visits], campaign)
        totals = queries.ask(TableQuestion(minutes(60, 180, campaign=campaign), ("function",), Page())).totals
        found.append(totals.estimate.value / (147 * 7200 / 5 * 259.5 * PERIOD))
    mean, error = np.mean(found), np.std(found, ddof=1) / np.sqrt(len(found))
    assert abs(mean - 1) < 4 * error + 0.005
    assert mean > 0.9


@pytest.mark.slow
def test_the_interval_of_a_flame_node_is_that_of_its_function(engine: Engine, queries: QueryEngine):
    random = np.random.default_rng(7)
    visits = [
        Drawn(60 + i, "east", 0.5, 5.0, tuple(int(n) for n in random.integers(1, 99, 3))) for i in range(40)
    ]
    ingest(engine, visits)
    flame = queries.ask(FlameTreeQuestion(minutes(60, 120), 100)).flame
    by_name = {f.name: size for f, size in zip(flame.functions, flame.effective, strict=True)}
    assert by_name["all"] is None
    rows = queries.ask(TableQuestion(minutes(60, 120), ("function",), Page())).rows
    for row in rows:
        share = row.total_share
        size = by_name[row.key["function"]]
        if share < 1:
            half = 1.96 * (share * (1 - share) / size) ** 0.5
            width = row.total_hi - row.total_lo
            assert width == pytest.approx(2 * half, rel=0.25)


@pytest.mark.slow
def test_of_too_much_a_random_part_is_read_and_stands_for_all(
    engine: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
):
    random = np.random.default_rng(11)
    visits = [
        Drawn(60 + i % 60, "east", 0.5, 5.0, tuple(int(n) for n in random.integers(50, 99, 3)))
        for i in range(120)
    ]
    ingest(engine, visits)
    selection = minutes(60, 115)
    whole = queries.ask(TableQuestion(selection, ("function",), Page()))
    assert not whole.totals.approximate
    monkeypatch.setattr("storage.query.facts.visit_scan.MAX_FACTS", 200)
    part = queries.ask(TableQuestion(selection, ("function",), Page()))
    assert part.totals.approximate
    assert 0 < part.totals.visits < whole.totals.visits
    assert part.totals.visits_drawn == whole.totals.visits_drawn
    assert part.totals.estimate.value == pytest.approx(whole.totals.estimate.value, rel=0.2)
    exact = {row.key["function"]: row.self_share for row in whole.rows}
    for row in part.rows:
        assert row.self_lo - 0.02 < exact[row.key["function"]] < row.self_hi + 0.02
    again = queries.ask(TableQuestion(selection, ("function",), Page()))
    assert again == part, "the part is always the same"


def test_a_part_that_is_too_much_by_chance_is_made_smaller(
    engine: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
):
    ingest(engine, [Drawn(60 + i % 60, "east", 0.5, 5.0, (50, 60, 70)) for i in range(60)])
    monkeypatch.setattr("storage.query.facts.visit_scan.MAX_FACTS", 60)
    monkeypatch.setattr("storage.query.samples.parts_to_read", lambda *_: WHOLE - 1)
    part = queries.ask(TableQuestion(minutes(60, 115), ("function",), Page()))
    assert part.totals.approximate
    assert 0 < part.totals.visits < 60


def test_too_much_of_what_was_not_drawn_at_random_is_refused(
    engine: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
):
    with engine.begin() as connection:
        fleet = Campaign(connection, SIZES, "by-hand")
        stacks = [fleet.write.stack([fleet.write.function(f"f{i}")]) for i in range(5)]
        fleet.write.profile(
            fleet.write.visit("m", MIDNIGHT, campaign_name="by-hand"), dict.fromkeys(stacks, 1)
        )
    monkeypatch.setattr("storage.query.facts.visit_scan.MAX_FACTS", 4)
    with pytest.raises(BadSelection, match="holds 5 facts"):
        queries.ask(TableQuestion(minutes(0, 60, campaign="by-hand"), ("function",), Page()))
