"""What the processes do: ingest, name functions, build symbols, merge, drop old days, read; each by the product's own code.

What a process remembers, its interner and its query engine above all, outlives whatever happens to its
connections.
"""

import tempfile
import time
from contextlib import suppress
from datetime import date, timedelta
from math import inf
from pathlib import Path
from uuid import UUID

from sqlalchemy import Connection, case, func, select

from fleetpb import capture_pb2
from storage import captures, partitions
from storage.database import open_engine
from storage.dictionary_sweep.sweep import sweep
from storage.ingest import profile_labels
from storage.ingest.ingest import ToIngest, ingest_many
from storage.ingest.interning import Interner
from storage.ingest.late_names import rename
from storage.ingest.symbolized import ResolvedFrames
from storage.retention.retain import Keep, retain
from storage.rollup.apply_queue import RollupWriter
from storage.rollup.compact import compact
from storage.rollup.daily import roll_up_days
from storage.rollup.errors import DayGone
from storage.rollup.rebuild import rebuild
from storage.schema import capture
from storage.symbols import candidates, reprocessing
from storage.symbols.improved_binaries import improved
from symbolizer.images.resolve import Resolver
from symbolizer.worker.ingestion import Ingester, LeaseTerms
from tests.integration.exactly_once import library
from tests.integration.exactly_once.answers import Answers
from tests.integration.exactly_once.crew import Actor
from tests.integration.exactly_once.made import STARTS, other_labels, pattern
from tests.integration.exactly_once.truth import check, moment
from tests.integration.exactly_once.world import KEEP, MOMENTS, NOON, TODAY
from tests.synthetic_captures import LIBRARY

QUESTIONS = 3
UPLOADS = 2
"""Debug files of the library in all: old days come to rest, which retention waits for."""
WHOLE = {library.made_of(f"debug file {n}".encode()) for n in range(UPLOADS)}
SWEEPER_RESTS_S = 10.0
"""At most, until something has been ingested since its last sweep."""
TERMS = LeaseTerms(seconds=1.0, attempts_limit=1000)
"""Leases of the dead run out soon, and nobody gives a capture up."""


def ingester(actor: Actor) -> None:
    """Ingests what is not ingested, whoever holds its lease, and as often what is, or an older generation of it."""
    if actor.rng.random() < 0.4:
        vars(profile_labels)["derive"] = other_labels  # this process has another configuration
    interner = Interner(actor.engine)
    for turn in actor.turns():
        with turn:
            with actor.engine.connect() as connection:
                rows = connection.execute(
                    select(capture.c.visit_id, capture.c.wanted, capture.c.ingested)
                ).all()
            wanted = {row.visit_id: row.wanted for row in rows}
            waiting = [row.visit_id for row in rows if row.ingested < row.wanted]
            chosen = actor.rng.sample(waiting, min(len(waiting), actor.rng.randrange(4)))
            chosen += actor.rng.sample(list(actor.world.visits), actor.rng.randrange(3))
            items = []
            for visit_id in set(chosen):
                generation = max(1, wanted[visit_id] - actor.rng.choice((0, 0, 0, 1)))
                made = pattern(actor.world.visits[visit_id].seed, better=generation > 1)
                items.append(ToIngest(visit_id, generation, made.of(visit_id), made.resolved))
            actor.rng.shuffle(items)
            for item, ingested in zip(items, ingest_many(actor.engine, interner, items), strict=True):
                if ingested.error is not None:
                    actor.note_error(ingested.error)
                actor.journal.note(ingested.outcome, visit=item.visit_id, generation=item.generation)


class _Symbols(Resolver):
    """In the place of the symbolizer's: now it has the library's symbols, now it has not."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    def forget(self, binary_key: str) -> None:
        """It remembers nothing."""

    def resolve(self, capture: capture_pb2.Capture) -> ResolvedFrames:
        visit = self._actor.world.visits[UUID(bytes=capture.visit_id)]
        return pattern(visit.seed, better=self._actor.rng.random() < 0.5).resolved


def worker(actor: Actor) -> None:
    """Takes what is due as a worker does: lease, blob, symbols, ingestion."""
    ingestion = Ingester(actor.engine, actor.stage.archive, _Symbols(actor), terms=TERMS)
    for turn in actor.turns():
        with turn:
            with actor.engine.connect() as connection:
                due = [one.visit_id for one in captures.due(connection, limit=20)]
            for visit_id in actor.rng.sample(due, min(len(due), 3)):
                ingested = ingestion.ingest(visit_id)
                if ingested is not None:
                    actor.journal.note(ingested.outcome, visit=visit_id, generation=1)


def uploader(actor: Actor) -> None:
    """Names nameless functions, a few at a time, and has some captures reprocessed."""
    interner = Interner(actor.engine)
    for turn in actor.turns():
        with turn:
            starts = actor.rng.sample(sorted(STARTS), 2)
            rename(actor.engine, interner, LIBRARY.hex(), {start: STARTS[start] for start in starts})
            with actor.engine.begin() as connection:
                ingested = select(capture.c.visit_id).where(
                    capture.c.ingested == capture.c.wanted,
                    # Old days come to rest: retention waits until nothing of theirs is to be merged.
                    capture.c.ingested
                    < case((capture.c.day < KEEP.facts_horizon(TODAY), 2), else_=actor.stage.generations),
                    ~capture.c.expired,
                    capture.c.blob != "",
                )
                again = sorted(connection.scalars(ingested).all())
                captures.want_again(connection, actor.rng.sample(again, min(3, len(again))))


def symbolist(actor: Actor) -> None:
    """Uploads debug files of the library, builds its symbols, names its functions, wants captures again: each at times.

    Whoever asks for what was built gets a whole file or none.
    """
    namer = library.LibraryNamer(actor.engine)
    archive = actor.stage.archive
    for turn in actor.turns():
        with turn, tempfile.TemporaryDirectory() as folder:
            with actor.engine.connect() as connection:
                known = len(candidates.every(connection, library.KEY))
            if known < UPLOADS:
                library.upload(actor.engine, archive, f"debug file {known}".encode())
            library.build(actor.engine, archive, f"debug file {actor.rng.randrange(UPLOADS)}".encode())
            found = library.built(actor.engine, archive, Path(folder))
            if found is not None and found not in WHOLE:
                raise AssertionError("what was built is not whole")
            use_symbols(actor, namer)
            time.sleep(0.1)


def feeder(actor: Actor) -> None:
    """Makes use of symbols that are there: the collector's sweep and the worker it tells."""
    namer = library.LibraryNamer(actor.engine)
    for turn in actor.turns():
        with turn:
            use_symbols(actor, namer)
            time.sleep(0.05)


def use_symbols(actor: Actor, namer: library.LibraryNamer) -> None:
    with actor.engine.connect() as connection:
        news = improved(connection, limit=9)
    for key in news:
        namer.name_functions(key)
    with actor.engine.begin() as connection:
        reprocessing.feed(connection, limit=5)


def writer(actor: Actor) -> None:
    """Merges what waits, a few visits at a time."""
    rolling = RollupWriter(actor.engine)
    for turn in actor.turns():
        with turn:
            merged = rolling.rollup(batch=actor.rng.randrange(1, 9)).entries
            if merged:
                actor.journal.note("merged", entries=merged)
            else:
                time.sleep(0.02)


def rebuilder(actor: Actor) -> None:
    """Makes the cells of one day after the other again."""
    for turn in actor.turns():
        with turn, suppress(DayGone):
            rebuild(actor.engine, actor.rng.choice(MOMENTS).date())
            time.sleep(0.1)


def compactor(actor: Actor) -> None:
    """Folds days, builds buckets of many; at times as one does months later, when every day is closed."""
    for turn in actor.turns():
        with turn:
            now = NOON + timedelta(days=actor.rng.choice((0, 90)))
            roll_up_days(actor.engine, now)
            actor.journal.note("compacted", buckets=compact(actor.engine, now, most_rows=inf).buckets)
            time.sleep(0.05)


def sweeper(actor: Actor) -> None:
    """Sweeps the dictionaries of what nothing uses."""
    for turn in actor.turns():
        with turn:
            swept = sweep(actor.engine)
            actor.journal.note("swept", rows=str(swept))
        # Ingestions begin again whenever a sweep does, one that breaks off too: on a busy machine none would come to its end.
        end = time.monotonic() + SWEEPER_RESTS_S
        ingested = actor.journal.counts()["ingested"]
        time.sleep(2)
        while (
            actor.journal.counts()["ingested"] == ingested and time.monotonic() < end and not actor.stopping()
        ):
            time.sleep(0.2)


def retirer(actor: Actor) -> None:
    """Drops one old day more, once most of its captures are ingested."""
    drop = partitions.drop

    def dropping(connection: Connection, before: date) -> list[date]:
        """Nobody can read or ingest facts now: what the oldest day holds is what its cells hold for good."""
        for day in partitions.existing(connection):
            if day < before:
                checked = check(connection, actor.world)
                actor.journal.note_dropped(day, checked.of_day(day))
        return drop(connection, before)

    partitions.drop = dropping
    for turn in actor.turns():
        with turn:
            with actor.engine.connect() as connection:
                day = partitions.oldest(connection)
                if day is None or day >= KEEP.facts_horizon(TODAY):
                    time.sleep(0.1)
                    continue
                waiting = connection.execute(
                    select(func.count())
                    .select_from(capture)
                    .where(capture.c.day == day, capture.c.ingested == 0)
                ).scalar_one()
            if waiting > 1:
                time.sleep(0.1)
                continue
            keep = Keep(facts_days=(TODAY - day).days - 1, cells_days=KEEP.cells_days)
            done = retain(actor.engine, actor.stage.archive, TODAY, keep, stopping=actor.stopping)
            actor.journal.note("retained", days=[old.day for old in done.dropped], busy=done.busy)


def reader(actor: Actor) -> None:
    """Compares every path to the facts, in one snapshot after the other."""
    answers = Answers(open_engine(actor.stage.url, application="answers"))
    for turn in actor.turns():
        with turn:
            with moment(actor.engine) as (connection, name):
                checked = check(connection, actor.world, actor.journal.dropped())
                wrong = [*checked.wrong, *answers.wrong(name, checked, actor.rng, QUESTIONS)]
            actor.journal.note(
                "check", ingested=len(checked.ingested), dropped=len(checked.dropped), asked=answers.asked,
                paths=answers.paths, wrong=wrong[:5],
            )  # fmt: skip
            time.sleep(0.3)  # readers without a pause would keep retention out for good
