"""What the processes do: land, name functions, build symbols, merge, drop old days, read; each by the product's own code.

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
from storage.landing import identities
from storage.landing.interning import Interner
from storage.landing.land import ToLand, land_many
from storage.landing.rename import rename
from storage.landing.resolved import ResolvedFrames
from storage.retention.retain import Keep, retain
from storage.rolling.compact import compact
from storage.rolling.errors import DayGone
from storage.rolling.fold import fold
from storage.rolling.rebuild import rebuild
from storage.rolling.roll import Roller
from storage.schema import capture
from storage.symbols import candidates, relanding
from storage.symbols.improved import improved
from symbolizer.images.resolve import Resolver
from symbolizer.worker.landing import Lander, LeaseTerms
from tests.integration.exactly_once import library
from tests.integration.exactly_once.answers import Answers
from tests.integration.exactly_once.crew import Actor
from tests.integration.exactly_once.made import STARTS, other_labels, pattern
from tests.integration.exactly_once.truth import check, moment
from tests.integration.exactly_once.world import KEEP, MOMENTS, NOON, TODAY
from tests.made_captures import LIBRARY

QUESTIONS = 3
UPLOADS = 2
"""Debug files of the library in all: old days come to rest, which retention waits for."""
WHOLE = {library.made_of(f"debug file {n}".encode()) for n in range(UPLOADS)}
SWEEPER_RESTS_S = 10.0
"""At most, until something has landed since its last sweep."""
TERMS = LeaseTerms(seconds=1.0, attempts_limit=1000)
"""Leases of the dead run out soon, and nobody gives a capture up."""


def lander(actor: Actor) -> None:
    """Lands what is not landed, whoever holds its lease, and as often what is, or an older generation of it."""
    if actor.rng.random() < 0.4:
        vars(identities)["derive"] = other_labels  # this process has another configuration
    interner = Interner(actor.engine)
    for turn in actor.turns():
        with turn:
            with actor.engine.connect() as connection:
                rows = connection.execute(
                    select(capture.c.visit_id, capture.c.wanted, capture.c.landed)
                ).all()
            wanted = {row.visit_id: row.wanted for row in rows}
            waiting = [row.visit_id for row in rows if row.landed < row.wanted]
            chosen = actor.rng.sample(waiting, min(len(waiting), actor.rng.randrange(4)))
            chosen += actor.rng.sample(list(actor.world.visits), actor.rng.randrange(3))
            items = []
            for visit_id in set(chosen):
                generation = max(1, wanted[visit_id] - actor.rng.choice((0, 0, 0, 1)))
                made = pattern(actor.world.visits[visit_id].seed, better=generation > 1)
                items.append(ToLand(visit_id, generation, made.of(visit_id), made.resolved))
            actor.rng.shuffle(items)
            for item, landed in zip(items, land_many(actor.engine, interner, items), strict=True):
                if landed.error is not None:
                    actor.note_error(landed.error)
                actor.journal.note(landed.outcome, visit=item.visit_id, generation=item.generation)


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
    """Takes what is due as a worker does: lease, blob, symbols, landing."""
    landing = Lander(actor.engine, actor.stage.archive, _Symbols(actor), terms=TERMS)
    for turn in actor.turns():
        with turn:
            with actor.engine.connect() as connection:
                due = [one.visit_id for one in captures.due(connection, limit=20)]
            for visit_id in actor.rng.sample(due, min(len(due), 3)):
                landed = landing.land(visit_id)
                if landed is not None:
                    actor.journal.note(landed.outcome, visit=visit_id, generation=1)


def uploader(actor: Actor) -> None:
    """Names nameless functions, a few at a time, and has some captures landed again."""
    interner = Interner(actor.engine)
    for turn in actor.turns():
        with turn:
            starts = actor.rng.sample(sorted(STARTS), 2)
            rename(actor.engine, interner, LIBRARY.hex(), {start: STARTS[start] for start in starts})
            with actor.engine.begin() as connection:
                landed = select(capture.c.visit_id).where(
                    capture.c.landed == capture.c.wanted,
                    # Old days come to rest: retention waits until nothing of theirs is to be merged.
                    capture.c.landed
                    < case((capture.c.day < KEEP.facts_from(TODAY), 2), else_=actor.stage.generations),
                    ~capture.c.expired,
                    capture.c.blob != "",
                )
                again = sorted(connection.scalars(landed).all())
                captures.want_again(connection, actor.rng.sample(again, min(3, len(again))))


def symbolist(actor: Actor) -> None:
    """Uploads debug files of the library, builds its symbols, names its functions, wants captures again: each at times.

    Whoever asks for what was built gets a whole file or none.
    """
    renaming = library.LibraryRenaming(actor.engine)
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
            use_symbols(actor, renaming)
            time.sleep(0.1)


def feeder(actor: Actor) -> None:
    """Makes use of symbols that are there: the collector's sweep and the worker it tells."""
    renaming = library.LibraryRenaming(actor.engine)
    for turn in actor.turns():
        with turn:
            use_symbols(actor, renaming)
            time.sleep(0.05)


def use_symbols(actor: Actor, renaming: library.LibraryRenaming) -> None:
    with actor.engine.connect() as connection:
        news = improved(connection, limit=9)
    for key in news:
        renaming.names_for(key)
    with actor.engine.begin() as connection:
        relanding.feed(connection, limit=5)


def roller(actor: Actor) -> None:
    """Merges what waits, a few visits at a time."""
    rolling = Roller(actor.engine)
    for turn in actor.turns():
        with turn:
            merged = rolling.roll(batch=actor.rng.randrange(1, 9)).entries
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
            fold(actor.engine, now)
            actor.journal.note("compacted", buckets=compact(actor.engine, now, most_rows=inf).buckets)
            time.sleep(0.05)


def sweeper(actor: Actor) -> None:
    """Sweeps the dictionaries of what nothing uses."""
    for turn in actor.turns():
        with turn:
            swept = sweep(actor.engine)
            actor.journal.note("swept", rows=str(swept))
        # Landings begin again whenever a sweep does, one that breaks off too: on a busy machine none would come to its end.
        end = time.monotonic() + SWEEPER_RESTS_S
        landed = actor.journal.counts()["landed"]
        time.sleep(2)
        while actor.journal.counts()["landed"] == landed and time.monotonic() < end and not actor.stopping():
            time.sleep(0.2)


def retirer(actor: Actor) -> None:
    """Drops one old day more, once most of its captures are landed."""
    drop = partitions.drop

    def dropping(connection: Connection, before: date) -> list[date]:
        """Nobody can read or land facts now: what the oldest day holds is what its cells hold for good."""
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
                if day is None or day >= KEEP.facts_from(TODAY):
                    time.sleep(0.1)
                    continue
                waiting = connection.execute(
                    select(func.count())
                    .select_from(capture)
                    .where(capture.c.day == day, capture.c.landed == 0)
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
                "check", landed=len(checked.landed), dropped=len(checked.dropped), asked=answers.asked,
                paths=answers.paths, wrong=wrong[:5],
            )  # fmt: skip
            time.sleep(0.3)  # readers without a pause would keep retention out for good
