"""Rolling: what has been ingested is merged into the cells, each visit exactly once.

    SELECT … FROM rollup_queue … FOR UPDATE SKIP LOCKED, DELETE FROM rollup_queue …

begins the transaction that merges the entries' visits, so an entry is gone exactly if its visit is in the
cells. Any number of rollers share the queue; they wait for each other only where they write cells of the
same day. A roller that dies leaves nothing behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import structlog
from sqlalchemy import Connection, Engine, text

from storage import partitions
from storage.arrays import distinct
from storage.errors import CorruptCell, CorruptChunk, StorageError
from storage.rollup import cell_store, exposures, queue_entries, rollup_days
from storage.rollup.cubes import HOURS_A_DAY, day_number, day_of
from storage.rollup.day_locks import lock_days
from storage.rollup.errors import DayGone, TookTooMuch
from storage.rollup.hourly_retention import without_hours
from storage.rollup.merge import gains
from storage.rollup.queue_entries import Entry
from storage.rollup.rebuild import rebuild
from storage.rollup.stack_functions import StackFunctions

BATCH = 400
"""Visits merged in one transaction, or fewer when they have more facts than `entries.MOST_FACTS`."""

WORTH_MERGING = 100
"""Visits for which a transaction is begun while more ingest. Answers are as fresh with any number, but what waits is read
visit by visit: a table of the fleet's functions took 30 ms of CPU with none waiting, 200 with 100, 720 with 400 (three
million facts of a day). With 400 merging a fact takes 2.0 µs instead of 2.2, as busy cells are written less often. Whoever
is behind merges up to `BATCH` of them at once."""

_log = structlog.get_logger("rolling")


@dataclass(frozen=True, slots=True)
class RolledUp:
    """What one transaction merged."""

    entries: int = 0
    """Taken off the queue; 0: it was empty, or others are at all that is left."""
    facts: int = 0
    cells: int = 0
    expired: int = 0
    """Of the entries, those of days that retention has dropped: their cells stay as they were."""


class RollupWriter:
    """Merges what waits; keeps the functions of the stacks it has met for the next time."""

    def __init__(self, engine: Engine, stack_functions: StackFunctions | None = None) -> None:
        """Only one thread at a time may use a roller."""
        self._engine = engine
        self._stack_functions = stack_functions or StackFunctions()

    def rollup(self, *, batch: int = BATCH) -> RolledUp:
        """Merge up to `batch` entries in one transaction.

        A day whose cells contradict themselves is rebuilt from its chunks. An entry that cannot be merged
        all the same, because its own facts are damaged, is dropped and logged, so that it holds up no
        other. Raises `DatabaseError`; then nothing has happened.
        """
        taken: list[Entry] = []
        try:
            return self._roll(taken, batch)
        except (CorruptCell, CorruptChunk) as error:
            if len(taken) > 1:  # find the entry it is about
                return self.rollup(batch=max(len(taken) // 8, 1))
            return self._mended(taken[0], error)

    def _mended(self, entry: Entry, error: StorageError) -> RolledUp:
        """Merge this entry after its days are rebuilt, or drop it; others may have begun with it meanwhile."""
        for day in error.days if isinstance(error, TookTooMuch) else (day_number(entry.day),):
            _log.error(
                "cells do not hold what they should and are rebuilt", day=str(day_of(day)), why=str(error)
            )
            try:
                rebuild(self._engine, day_of(day), stack_functions=self._stack_functions)
            except (CorruptCell, CorruptChunk, DayGone) as reason:
                _log.error("cells could not be rebuilt", day=str(day_of(day)), why=str(reason))
        try:
            return self._roll([], 1, only=entry.entry_id)
        except (CorruptCell, CorruptChunk) as still:
            with self._engine.begin() as connection:
                dropped = queue_entries.take(connection, 1, only=entry.entry_id)
                queue_entries.discard_replaced(connection, dropped)
            for _ in dropped:
                _log.error("a visit stays out of the cells", visit_id=str(entry.visit_id), why=str(still))
            return RolledUp(entries=len(dropped))

    def _roll(self, taken: list[Entry], limit: int, *, only: int | None = None) -> RolledUp:
        """Merge in one transaction; `taken` gets the entries it was about, whatever becomes of it."""
        with self._engine.begin() as connection:
            # If a crash of the server loses this commit, the entries are in the queue again.
            connection.execute(text("SET LOCAL synchronous_commit = off"))
            taken += queue_entries.take(connection, limit, only=only)
            if not taken:
                return RolledUp()
            kept = _of_days_kept(connection, taken)
            facts, cells = self._merge(connection, kept) if kept else (0, 0)
            queue_entries.discard_replaced(connection, taken)
        return RolledUp(len(taken), facts, cells, len(taken) - len(kept))

    def _merge(self, connection: Connection, taken: Sequence[Entry]) -> tuple[int, int]:
        batch = queue_entries.read_batch(connection, taken)
        self._stack_functions.load(connection, distinct(batch.stack)[0])
        touched = np.unique(batch.visits.hour // HOURS_A_DAY).tolist()
        levels = _levels(connection, touched)
        gained = gains(batch, self._stack_functions, *levels)
        lock_days(connection, touched)
        if (now := _levels(connection, touched)) != levels:  # somebody folded one meanwhile
            gained = gains(batch, self._stack_functions, *now)
        rollup_days.change(connection, touched)
        cells = cell_store.add(connection, gained)
        exposures.add(connection, batch)
        return len(batch.stack), cells


def rollup(engine: Engine, *, batch: int = BATCH) -> RolledUp:
    """Merge up to `batch` entries of the queue in one transaction, as `RollupWriter.rollup` does."""
    return RollupWriter(engine).rollup(batch=batch)


def _levels(connection: Connection, touched: list[int]) -> tuple[frozenset[int], frozenset[int]]:
    """Of these days those with cells of the whole day, and of these those with no others."""
    with_daily_rollup = rollup_days.with_daily_rollup(connection, touched)
    return with_daily_rollup, without_hours(connection, with_daily_rollup)


def _of_days_kept(connection: Connection, taken: Sequence[Entry]) -> list[Entry]:
    """Entries of days whose facts are there; of others nothing can be said, so their cells stay."""
    kept = set(partitions.existing(connection))
    return [entry for entry in taken if entry.day in kept]
