"""Closed days in buckets: the same estimates and variances as from the visits one by one."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Delete, Engine, Update, delete, insert, select, update

from analysis import moments
from analysis.moments import Moments
from storage.coverage import utilisation_class
from storage.database import snapshot
from storage.query.estimation.strata import read_strata
from storage.rollup import input_fingerprint, long_buckets
from storage.rollup.apply_queue import RollupWriter
from storage.rollup.compact import Compacted, compact
from storage.rollup.cubes import APPLICATION, CUBES, EVENT, Cube, Source, day_of
from storage.rollup.day_weights import day_weights
from storage.rollup.read_cells import Exposure, WeightedCells, read_weighted
from storage.rollup.time_cover import Cover, cover, read_state
from storage.schema import coverage, exposure, rollup_long
from tests.cell_facts import DAY_0, CellFacts, Seen, clear

pytestmark = [pytest.mark.integration, pytest.mark.slow]

DAYS = range(DAY_0, DAY_0 + 6)
FRAMES = {1: (1,), 2: (1, 2), 3: (1, 2, 1), 4: (3, 2)}
LATER = datetime.fromtimestamp((DAY_0 + 100) * 86400, UTC)


@pytest.fixture
def facts(engine: Engine) -> CellFacts:
    made = CellFacts(engine, days=[*DAYS, DAY_0 + 20])
    made.stacks(list(FRAMES.values()))
    return made


@dataclass
class World:
    """Visits of campaign 1 and what they saw, beside the database."""

    facts: CellFacts
    visits: dict[UUID, tuple[int, int, int, int, list[Seen]]] = field(default_factory=dict)
    """hour, stratum, class, machine, profiles."""

    def visit(
        self, hour: int, stratum: int, utilisation: float | None, machine: int, seen: list[Seen]
    ) -> UUID:
        id_ = self.facts.visit(hour, machine_id=machine, stratum_id=stratum, utilisation=utilisation)
        self.facts.ingest(id_, seen)
        self.visits[id_] = (hour, stratum, utilisation_class(utilisation), machine, seen)
        return id_

    def cover(self) -> None:
        """Coverage of all visits, and one failure in each stratum and hour."""
        drawn = Counter((hour, stratum, klass) for hour, stratum, klass, _, _ in self.visits.values())
        for hour, stratum in {key[:2] for key in drawn}:
            drawn[hour, stratum, 3] += 1
        with self.facts.engine.begin() as connection:
            for (hour, stratum, klass), n in drawn.items():
                connection.execute(
                    insert(coverage).values(
                        campaign_id=1, stratum_id=stratum, hour=hour, utilisation_class=klass,
                        day=datetime.fromtimestamp(hour * 3600, UTC).date(), population=100 * stratum,
                        drawn=n, answered=n, failed=0, seconds=5.0 * n,
                    )
                )  # fmt: skip


def by_hand(
    engine: Engine, world: World, days: Sequence[int], cube: Cube, keys: tuple[int, int], *, own: bool
) -> tuple[Moments, dict[int, float]]:
    """Moments of functions 1…3 over the visits of these days, and the fleet's units by stack."""
    total = moments.none(3)
    stacks: dict[int, float] = defaultdict(float)
    for day in days:
        start = datetime.fromtimestamp(day * 86400, UTC)
        with snapshot(engine) as connection:
            strata = read_strata(connection, 1, start, start + timedelta(days=1))
        assert strata is not None
        mine = [v for v in world.visits.values() if v[0] // 24 == day]
        stratum, klass = (np.array([v[i] for v in mine], np.int64) for i in (1, 2))
        n = np.ones(len(mine), np.int64)
        watched = Exposure(stratum, np.full(len(mine), day), klass, n, np.full(len(mine), 5.0))
        weights = day_weights(strata, watched).weights
        assert weights is not None
        row = strata.row(stratum, np.full(len(mine), day))
        weight, group = weights.weight[row, klass + 1], weights.group[row, klass + 1]
        x = np.zeros(len(mine))
        y: Counter[tuple[int, int]] = Counter()
        for i, (*_, seen) in enumerate(mine):
            for one in seen:
                if cube is not EVENT and one.application != keys[0]:
                    continue
                for s, count in one.facts.items():
                    units = count * one.period
                    x[i] += units
                    stacks[s] += weight[i] * units
                    for f in {FRAMES[s][-1]} if own else set(FRAMES[s]):
                        y[f - 1, i] += units
        pairs = np.array([(*key, value) for key, value in y.items()], np.int64).reshape(-1, 3)
        total += moments.from_visits(
            weight,
            group,
            weights,
            x=x,
            row=pairs[:, 0],
            visit=pairs[:, 1],
            y=pairs[:, 2].astype(float),
            rows=3,
        )
    return total, stacks


def compact_all(engine: Engine, now: datetime) -> Compacted:
    """Buckets are made of a few rows here, which hardly merge."""
    return compact(engine, now, most_rows=math.inf)


def read(engine: Engine, cube: Cube, level: int, bucket: int) -> WeightedCells:
    with snapshot(engine) as connection:
        return read_weighted(connection, Source(cube, 1, True, 1), Cover(weighted=((level, bucket),)))


def assert_right(engine: Engine, world: World, level: int, bucket: int) -> None:
    inside = range(bucket * 4**level, (bucket + 1) * 4**level)
    days = sorted({v[0] // 24 for v in world.visits.values()} & set(inside))
    for cube in (cube for cube in CUBES if level in cube.weighted_levels):
        cells = read(engine, cube, level, bucket)
        keys = {
            (
                (0, 0) if cube is EVENT else (one.application, 0) if cube is APPLICATION else (one.application, one.version)
            )
            for v in world.visits.values() if v[0] // 24 in days for one in v[-1]
        }  # fmt: skip
        assert set(zip(cells.k1.tolist(), cells.k2.tolist(), strict=True)) == keys
        for c, key in enumerate(zip(cells.k1.tolist(), cells.k2.tolist(), strict=True)):
            _, stacks = by_hand(engine, world, days, cube, key, own=True)
            mine = cells.cell == c
            assert dict(
                zip(cells.stack[mine].tolist(), cells.weighted[mine].tolist(), strict=True)
            ) == pytest.approx(stacks)
            assert cells.weighted_total[c] == pytest.approx(sum(stacks.values()))
            assert cells.units[mine].sum() == cells.total[c]
            parts = cells.moments
            if parts is None:
                continue
            for name, own in (("own", True), ("total", False)):
                wanted, _ = by_hand(engine, world, days, cube, key, own=own)
                assert (parts.ingested[c], parts.df[c]) == (wanted.ingested, pytest.approx(wanted.df))
                rows = parts.cell == c
                at = parts.function[rows] - 1
                assert (np.delete(wanted.y, at) == 0).all()
                atol = 1e-6 * float(wanted.x) ** 2
                assert parts.x[c] == pytest.approx(wanted.x)
                np.testing.assert_allclose(getattr(parts, name)[rows], wanted.y[at], rtol=1e-9)
                np.testing.assert_allclose(
                    getattr(parts, f"{name}_vyy")[rows], wanted.vyy[at], rtol=1e-5, atol=atol
                )
                np.testing.assert_allclose(
                    getattr(parts, f"{name}_vxy")[rows], wanted.vxy[at], rtol=1e-5, atol=atol
                )
                np.testing.assert_allclose(
                    getattr(parts, f"{name}_second")[rows], wanted.second[at], rtol=1e-5
                )
                np.testing.assert_allclose(
                    getattr(parts, f"{name}_fourth")[rows], wanted.fourth[at], rtol=1e-5
                )
                if not own:
                    assert parts.visits[rows].tolist() == wanted.visits[at].tolist()
            np.testing.assert_allclose(parts.vxx[c], wanted.vxx, rtol=1e-5, atol=atol)
            np.testing.assert_allclose(parts.x_second[c], wanted.x_second, rtol=1e-9)
            if cube is EVENT:
                np.testing.assert_allclose(parts.vxe[c], wanted.vxx, rtol=1e-5, atol=atol)


SEEN = st.lists(
    st.builds(
        Seen,
        st.dictionaries(st.sampled_from(sorted(FRAMES)), st.integers(1, 50), min_size=1),
        application=st.integers(1, 2),
        version=st.integers(3, 4),
    ),
    max_size=3,
)
VISITS = st.lists(
    st.tuples(
        st.sampled_from([day * 24 + hour for day in DAYS for hour in (0, 17)]),
        st.integers(1, 2),
        st.sampled_from([None, 0.1, 0.9]),
        st.integers(1, 5),
        SEEN,
    ),
    min_size=1,
    max_size=12,
)


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(visits=VISITS)
def test_buckets_say_of_their_days_what_the_visits_say(
    engine: Engine, facts: CellFacts, visits: list[Any]
) -> None:
    clear(engine)
    world = World(facts)
    for one in visits:
        world.visit(*one)
    world.cover()
    RollupWriter(engine).rollup()
    built = compact_all(engine, LATER).buckets
    days = {visit[0] // 24 for visit in visits}
    assert sorted(built) == sorted({(level, day // 4**level) for level in (1, 2, 3) for day in days})
    for level, bucket in built:
        assert_right(engine, world, level, bucket)


def filled(engine: Engine, facts: CellFacts) -> World:
    """Two visits on each of some days, merged into cells."""
    world = World(facts)
    for day in (*DAYS, DAY_0 + 20):
        world.visit(day * 24 + 3, 1, 0.1, 1, [Seen({1: 2, 3: 4})])
        world.visit(day * 24 + 3, 1, 0.1, 2, [Seen({2: 2})])
    world.cover()
    RollupWriter(engine).rollup()
    return world


def test_a_late_visit_takes_its_buckets_back_until_they_are_built_again(
    engine: Engine, facts: CellFacts
) -> None:
    world = filled(engine, facts)
    compact_all(engine, LATER)
    assert whole(engine).weighted == ((3, DAY_0 // 64),)
    others = ((1, DAY_0 // 4 + 1), (2, DAY_0 // 16 + 1))
    world.visit(DAY_0 * 24 + 3, 1, 0.1, 3, [Seen({4: 7})])
    assert whole(engine).weighted == others, "its entry waits"
    assert compact_all(engine, LATER).buckets == (), "nor is anything built over it"
    RollupWriter(engine).rollup()
    assert whole(engine).weighted == others, "the day has changed"
    assert compact_all(engine, LATER).buckets == ((1, DAY_0 // 4), (2, DAY_0 // 16), (3, DAY_0 // 64))
    for level in (1, 2, 3):
        assert_right(engine, world, level, DAY_0 // 4**level)
    assert whole(engine).weighted == ((3, DAY_0 // 64),)
    assert compact_all(engine, LATER).buckets == ()


def test_a_visit_that_ingests_again_takes_its_buckets_back(engine: Engine, facts: CellFacts) -> None:
    """Weights stay, and so does what the day was observed in: only its cells differ."""
    world = filled(engine, facts)
    compact_all(engine, LATER)
    (id_, first), *_ = world.visits.items()
    facts.ingest(id_, [Seen({4: 6})], again=True)
    world.visits[id_] = (*first[:-1], [Seen({4: 6})])
    while RollupWriter(engine).rollup().entries:
        pass
    assert (3, DAY_0 // 64) not in whole(engine).weighted
    compact_all(engine, LATER)
    for level in (1, 2, 3):
        assert_right(engine, world, level, DAY_0 // 4**level)


LATE_CHANGES = {
    "a visit that fails late": update(coverage).values(drawn=coverage.c.drawn + 1),
    "machines that are added": update(coverage).values(population=coverage.c.population * 2),
    "seconds that are corrected": update(exposure).values(seconds=exposure.c.seconds + 0.01),
    "an hour that is lost": delete(coverage).where(coverage.c.utilisation_class == 3),
}


@pytest.mark.parametrize("change", LATE_CHANGES.values(), ids=LATE_CHANGES)
def test_no_bucket_answers_with_weights_that_days_had_before(
    engine: Engine, facts: CellFacts, change: Update | Delete
) -> None:
    filled(engine, facts)
    compact_all(engine, LATER)
    assert whole(engine).weighted == ((3, DAY_0 // 64),)
    day = change.table.c.day  # type: ignore[union-attr]  # tables
    with engine.begin() as connection:
        connection.execute(change.where(day == day_of(DAY_0)))
    assert whole(engine).weighted == ((1, DAY_0 // 4 + 1), (2, DAY_0 // 16 + 1))
    assert compact_all(engine, LATER).buckets == ((1, DAY_0 // 4), (2, DAY_0 // 16), (3, DAY_0 // 64))
    assert whole(engine).weighted == ((3, DAY_0 // 64),)


def test_a_day_is_closed_two_days_after_its_end(engine: Engine, facts: CellFacts) -> None:
    world = World(facts)
    world.visit((DAY_0 + 3) * 24, 1, None, 1, [Seen({1: 1})])
    world.cover()
    RollupWriter(engine).rollup()
    closes = datetime.fromtimestamp((DAY_0 + 6) * 86400, UTC)
    assert compact_all(engine, closes - timedelta(seconds=1)).buckets == ()
    assert compact_all(engine, closes).buckets == ((1, DAY_0 // 4),)


def test_a_campaign_without_a_random_design_has_no_buckets(engine: Engine, facts: CellFacts) -> None:
    """No question takes cells of it."""
    facts.ingest(facts.visit(DAY_0 * 24), [Seen({1: 1, 3: 2})])
    RollupWriter(engine).rollup()
    assert compact_all(engine, LATER).buckets == ()


def test_a_bucket_is_written_where_it_has_at_most_half_the_rows_of_its_days(
    engine: Engine, facts: CellFacts
) -> None:
    world = World(facts)
    for day, stack in enumerate((1, 2, 3, 4)):
        world.visit((DAY_0 + day) * 24, 1, 0.1, 1, [Seen({stack: 2})])
    for day in (4, 5):
        world.visit((DAY_0 + day) * 24, 1, 0.1, 1, [Seen({2: 2})])
    world.cover()
    RollupWriter(engine).rollup()
    assert (1, DAY_0 // 4) in compact(engine, LATER).buckets
    assert compact(engine, LATER).buckets == (), "what is not written is looked at once"
    with engine.connect() as connection:
        c = rollup_long.c
        of_event = select(c.level, c.bucket).where(c.cube == EVENT.id).order_by(c.level)
        written = [tuple(row) for row in connection.execute(of_event)]
    # Four days have 11 sums of 4 stacks and 3 functions; the two others 6 of 1 and 2. With all 16 days 14 become 7.
    assert written == [(1, DAY_0 // 4 + 1), (2, DAY_0 // 16)]
    assert whole(engine).weighted == ((2, DAY_0 // 16),)


def test_gauges_stay_in_their_days(engine: Engine, facts: CellFacts) -> None:
    id_ = facts.visit(DAY_0 * 24)
    facts.ingest(id_, [Seen({1: 5}, sample_type=3)], watched=[(3, True, 5.0)])
    RollupWriter(engine).rollup()
    compact_all(engine, LATER)
    with engine.connect() as connection:
        assert connection.execute(select(rollup_long)).all() == []


def test_many_keys_are_merged_in_parts(
    engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_buckets, "PAIRS", 2)
    world = World(facts)
    for n in range(6):
        world.visit(
            DAY_0 * 24 + 30 * (n % 2),
            1 + n % 2,
            0.1,
            1 + n % 3,
            [Seen({1: 1, 2: 2}, application=1 + n % 3, version=n)],
        )
    world.cover()
    RollupWriter(engine).rollup()
    compact_all(engine, LATER)
    assert_right(engine, world, 1, DAY_0 // 4)


def whole(engine: Engine) -> Cover:
    """How the first 64 days are covered for the whole event."""
    first, end = (day * 24 for day in (DAY_0 // 64 * 64, DAY_0 // 64 * 64 + 64))
    with snapshot(engine) as connection:
        state = read_state(connection, 1, 1, first=first, end=end)
        start, until = (datetime.fromtimestamp(hour * 3600, UTC) for hour in (first, end))
        strata = read_strata(connection, 1, start, until)
        assert strata is not None
        source = Source(EVENT, 1, True, 1)
        buckets = input_fingerprint.usable(connection, state, source, strata, first=first, end=end)
        return cover(state, first, end).in_buckets(buckets)
