"""PostgreSQL is killed again and again while old days go and dictionaries are swept: nothing lost, nothing twice.

Ingestions, mergings, foldings, buckets of days, retention and sweeps go on meanwhile, each with its own memory and
connections, and each begins again when its connection breaks. Kills wait for work, not for time: each part of it has
to be done between two of them. `FLEETPROF_KILLS=50` kills more often.
"""

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from math import inf
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, func, select

from storage import migrate, partitions
from storage.archive import Archive, capture_key
from storage.database import open_engine
from storage.dictionary_sweep.sweep import sweep
from storage.errors import DatabaseError
from storage.ingest.interning import Interner
from storage.retention.retain import Keep, retain
from storage.rollup.apply_queue import RollupWriter
from storage.rollup.compact import compact
from storage.rollup.cubes import DAY, EVENT, HOUR, HOURS_A_DAY, WEIGHTED_LEVELS, Source, day_number
from storage.rollup.daily import roll_up_days
from storage.schema import (
    capture,
    coverage,
    rollup,
    rollup_long,
    rollup_queue,
    rollup_retraction,
    sample_type,
    visit,
)
from tests.ingested import BEFORE_MIDNIGHT, archived
from tests.integration.dictionary_sweep.ingestions import broken, capture_of, ingested, is_as_ingested
from tests.integration.exactly_once.server import MortalServer
from tests.synthetic_captures import expected_units
from tests.usable_buckets import usable_buckets

KILLS = int(os.environ.get("FLEETPROF_KILLS", "8"))
DAYS = [BEFORE_MIDNIGHT + timedelta(days=n) for n in range(6)]
TODAY = DAYS[-1].date()
LATER = DAYS[-1] + timedelta(days=90)
"""All days are closed, and their buckets of 4, 16 and 64 days are over."""
KEPT = 3
"""Days whose facts stay; the others go one after the other."""
VISITS_A_DAY = 5
LONGEST_S = 0.8
"""To the next kill, once what is waited for has happened."""
PATIENCE_S = 15.0
"""With what is waited for between two kills; then it is waited for after the next one."""
KINDS = ("ingested", "merged", "dropped", "folded", "bucket")
"""What has to happen between two kills, each in its turn."""

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120 + 20 * KILLS)]


@dataclass
class World:
    """What was drawn and archived, and what was ingested of it last."""

    url: str
    archive: Archive
    visits: dict[UUID, date] = field(default_factory=dict)
    seeds: dict[UUID, int] = field(default_factory=dict)
    """The captures' content, by visit; several share one, so that stacks are used by many days or by one."""
    oldest_kept: int = 0
    """Days before it, counted from the first, may go."""
    done: Counter[str] = field(default_factory=Counter)
    """How often each of `KINDS` was seen done; each is counted by one thread."""
    over: threading.Event = field(default_factory=threading.Event)
    errors: list[BaseException] = field(default_factory=list)

    def engine(self, name: str) -> Engine:
        return open_engine(self.url, application=name)


def make_world(url: str, archive: Archive) -> World:
    world = World(url, archive)
    engine = world.engine("make")
    migrate.upgrade(url)
    for n, moment in enumerate(DAYS):
        for i, visit_id in enumerate(archived(engine, VISITS_A_DAY, drawn_at=moment)):
            world.visits[visit_id] = moment.date()
            world.seeds[visit_id] = 1 + n if i % 2 else 20 + i
            archive.put(capture_key(moment.date(), visit_id), b"raw")
    engine.dispose()
    return world


def ingest_all(world: World, engine: Engine, interner: Interner) -> int:
    """Ingest what is not ingested, in any order; the number ingested."""
    with engine.connect() as connection:
        waiting = connection.scalars(
            select(capture.c.visit_id).where(capture.c.ingested < capture.c.wanted)
        ).all()
    for visit_id in random.sample(waiting, len(waiting)):
        ingested(engine, interner, visit_id, world.seeds[visit_id])
        world.done["ingested"] += 1
    return len(waiting)


def ingester(world: World) -> Callable[[], object]:
    engine = world.engine("ingester")
    interner = Interner(engine)

    def turn() -> None:
        ingest_all(world, engine, interner)
        with engine.connect() as connection:
            queue = connection.scalar(select(func.count()).select_from(rollup_queue))
        if not queue:  # all is merged: a day more may go
            world.oldest_kept = min(world.oldest_kept + 1, len(DAYS) - KEPT)

    return turn


def writer(world: World) -> Callable[[], object]:
    rolling = RollupWriter(world.engine("roller"))

    def turn() -> None:
        world.done["merged"] += rolling.rollup(batch=3).entries

    return turn


def compactor(world: World) -> Callable[[], object]:
    """As one does when every day is closed."""
    engine = world.engine("compactor")

    def turn() -> None:
        world.done["folded"] += len(roll_up_days(engine, LATER))
        world.done["bucket"] += len(compact(engine, LATER, most_rows=inf).buckets)
        world.over.wait(0.1)

    return turn


def retirer(world: World) -> Callable[[], object]:
    engine = world.engine("retirer")

    def turn() -> None:
        world.done["dropped"] += len(retain(engine, world.archive, TODAY, keep(world.oldest_kept)).dropped)

    return turn


def sweeper(world: World) -> Callable[[], object]:
    engine = world.engine("sweeper")

    def turn() -> None:
        try:
            sweep(engine)
        finally:
            rest()

    def rest() -> None:
        """Ingestions begin again whenever an epoch does, that of a broken-off sweep too: until one came to its end."""
        end, ingested = time.monotonic() + 5, world.done["ingested"]
        world.over.wait(0.2)
        while world.done["ingested"] == ingested and time.monotonic() < end and not world.over.is_set():
            world.over.wait(0.05)

    return turn


def keep(oldest: int) -> Keep:
    return Keep(facts_days=(TODAY - DAYS[oldest].date()).days, cells_days=400)


def live(world: World, role: Callable[[World], Callable[[], object]]) -> None:
    """Take turn after turn; what a broken connection interrupts is done again with the next."""
    try:
        turn = role(world)
        while not world.over.is_set():
            with suppress(DatabaseError):
                turn()
            world.over.wait(0.01)
    except BaseException as error:  # noqa: BLE001 - told to the test below
        world.errors.append(error)


@pytest.mark.slow
def test_whatever_the_server_loses_is_done_again(mortal_server: MortalServer, tmp_path: Path) -> None:
    world = make_world(mortal_server.url(), Archive(str(tmp_path)))
    rng = random.Random(7)
    threads = [
        threading.Thread(target=live, args=(world, role))
        for role in (ingester, writer, compactor, retirer, sweeper)
    ]
    for thread in threads:
        thread.start()
    between = Counter[str]()
    for kill in range(KILLS):
        before = world.done.copy()
        missing = [kind for kind in KINDS if not between[kind]]
        if kill and missing:
            await_progress(world, missing[0])
        time.sleep(rng.uniform(0.05, LONGEST_S))  # what happens meanwhile is the point
        if kill:
            between += world.done.copy() - before
        mortal_server.kill()
        mortal_server.start()
    world.over.set()
    for thread in threads:
        thread.join(60)
    assert world.errors == []
    settle(world)
    check(world)
    if len(KINDS) < KILLS:
        assert [kind for kind in KINDS if not between[kind]] == [], "what never happened between two kills"


def await_progress(world: World, kind: str) -> None:
    """Return when one more of the kind is done, or patience has ended, or a thread has failed."""
    before, end = world.done[kind], time.monotonic() + PATIENCE_S
    while world.done[kind] == before and time.monotonic() < end and not world.errors:
        time.sleep(0.02)


def settle(world: World) -> None:
    """Nobody disturbs any more: everything comes to its end."""
    engine = world.engine("settle")
    ingest_all(world, engine, Interner(engine))
    rolling = RollupWriter(engine)
    while rolling.rollup(batch=50).entries:
        pass
    roll_up_days(engine, LATER)
    compact(engine, LATER, most_rows=inf)
    done = retain(engine, world.archive, TODAY, keep(len(DAYS) - KEPT))
    assert done.kept_back is None
    assert sweep(engine) is not None
    again = sweep(engine)
    assert again is not None
    assert sum(again.freed.values()) == 0
    engine.dispose()


def check(world: World) -> None:
    engine = world.engine("check")
    kept_days = {moment.date() for moment in DAYS[-KEPT:]}
    with engine.connect() as connection:
        assert set(partitions.existing(connection)) == kept_days
        for table in (rollup_queue, rollup_retraction):
            assert connection.scalar(select(func.count()).select_from(table)) == 0
        captures = {row.visit_id: row for row in connection.execute(select(capture))}
        cells = {level: cells_by_day(connection, level) for level in (HOUR, DAY)}
        buckets = bucket_totals(connection)
        assert connection.scalar(select(func.count()).select_from(visit)) == len(world.visits)
        assert connection.scalar(select(func.sum(coverage.c.drawn))) == len(world.visits)
    assert set(captures) == set(world.visits)
    expected: Counter[int] = Counter()
    for visit_id, day in world.visits.items():
        row = captures[visit_id]
        assert row.ingested == row.wanted
        assert (row.blob != "") == (day in kept_days)
        if day in kept_days:
            assert not row.expired
            assert is_as_ingested(engine, visit_id, world.seeds[visit_id])
        if not row.expired:
            message, _ = capture_of(visit_id, world.seeds[visit_id])
            expected[day_number(day)] += expected_units(message)["cpu"]
    assert cells == {HOUR: expected, DAY: expected}, "of days whose facts are gone, too"
    assert buckets == {level: expected.total() for level in WEIGHTED_LEVELS}
    assert {key.split("/")[1] for key, _ in world.archive.keys()} == {day.isoformat() for day in kept_days}  # noqa: SIM118 - no dict
    assert broken(engine) == {}
    engine.dispose()


def cells_by_day(connection: Connection, level: int) -> Counter[int]:
    """Units of the fleet's cells of hours, or of days."""
    found: Counter[int] = Counter()
    for row in connection.execute(
        select(rollup.c.bucket, rollup.c.total)
        .join(sample_type, sample_type.c.sample_type_id == rollup.c.sample_type_id)
        .where(rollup.c.cube == EVENT.id, rollup.c.level == level, sample_type.c.event == "cpu")
    ):
        found[row.bucket // HOURS_A_DAY if level == HOUR else row.bucket] += row.total
    return found


def bucket_totals(connection: Connection) -> Counter[int]:
    """Units in all buckets of a level, by level; those count that are said to hold all there is."""
    usable = usable_buckets(connection)
    c = rollup_long.c
    found: Counter[int] = Counter()
    for row in connection.execute(
        select(c.campaign_id, c.stacks, c.sample_type_id, c.level, c.bucket, c.total)
        .join(sample_type, sample_type.c.sample_type_id == c.sample_type_id)
        .where(c.cube == EVENT.id, sample_type.c.event == "cpu")
    ):
        source = Source(EVENT, row.campaign_id, row.stacks, row.sample_type_id)
        if (source, (row.level, row.bucket)) in usable:
            found[row.level] += row.total
    return found
