"""Merge queued visits into cells, each visit exactly once.

    SELECT … FROM rollup_queue … FOR UPDATE SKIP LOCKED, DELETE FROM rollup_queue …

begins the transaction that merges the visits, so an entry is deleted exactly if its visit is in the cells. Any number
of writers share the queue. They wait for each other only if they write cells of the same day. A writer that dies leaves
nothing behind.
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
"""Visits merged in one transaction; fewer if they have more facts than `queue_entries.MOST_FACTS`."""

WORTH_MERGING = 100
"""Waiting visits that start a transaction. Answers are equally fresh with any number, but waiting visits are read one
by one: a table of the fleet's functions took 30 ms of CPU with none waiting, 200 ms with 100 and 720 ms with 400 (a
day of three million facts). Merging 400 at a time takes 2.0 µs a fact, not 2.2, because busy cells are rewritten
less often. A writer with a backlog merges up to `BATCH` at once."""

_log = structlog.get_logger("rolling")


@dataclass(frozen=True, slots=True)
class RolledUp:
    """The result of one transaction."""

    entries: int = 0
    """Entries taken off the queue; 0 if the queue is empty or other writers hold all its entries."""
    facts: int = 0
    cells: int = 0
    expired: int = 0
    """Those of `entries` whose day was dropped by retention; the cells of such a day are unchanged."""


class RollupWriter:
    """Merges queued visits into cells; caches the functions of stacks between calls."""

    def __init__(self, engine: Engine, stack_functions: StackFunctions | None = None) -> None:
        """Not thread-safe."""
        self._engine = engine
        self._stack_functions = stack_functions or StackFunctions()

    def rollup(self, *, batch: int = BATCH) -> RolledUp:
        """Merge up to `batch` entries in one transaction.

        A day with inconsistent cells is rebuilt from its chunks. An entry that still cannot be merged, because its own
        facts are damaged, is dropped and logged, so that it does not block the queue. Raises `DatabaseError`; then
        nothing is changed.
        """
        taken: list[Entry] = []
        try:
            return self._roll(taken, batch)
        except (CorruptCell, CorruptChunk) as error:
            if len(taken) > 1:  # find the damaged entry
                return self.rollup(batch=max(len(taken) // 8, 1))
            return self._mended(taken[0], error)

    def _mended(self, entry: Entry, error: StorageError) -> RolledUp:
        """Rebuild the entry's days and merge it, or drop it; another writer may already hold it."""
        for day in error.days if isinstance(error, TookTooMuch) else (day_number(entry.day),):
            _log.error("cells are inconsistent and are rebuilt", day=str(day_of(day)), why=str(error))
            try:
                rebuild(self._engine, day_of(day), stack_functions=self._stack_functions)
            except (CorruptCell, CorruptChunk, DayGone) as reason:
                _log.error("cells cannot be rebuilt", day=str(day_of(day)), why=str(reason))
        try:
            return self._roll([], 1, only=entry.entry_id)
        except (CorruptCell, CorruptChunk) as still:
            with self._engine.begin() as connection:
                dropped = queue_entries.take(connection, 1, only=entry.entry_id)
                queue_entries.discard_replaced(connection, dropped)
            for _ in dropped:
                _log.error("a visit is left out of the cells", visit_id=str(entry.visit_id), why=str(still))
            return RolledUp(entries=len(dropped))

    def _roll(self, taken: list[Entry], limit: int, *, only: int | None = None) -> RolledUp:
        """Merge in one transaction; append its entries to `taken`, even if it fails."""
        with self._engine.begin() as connection:
            # If a crash of the server loses this commit, the entries are back in the queue.
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
        if (now := _levels(connection, touched)) != levels:  # another process wrote a daily rollup meanwhile
            gained = gains(batch, self._stack_functions, *now)
        rollup_days.change(connection, touched)
        cells = cell_store.add(connection, gained)
        exposures.add(connection, batch)
        return len(batch.stack), cells


def rollup(engine: Engine, *, batch: int = BATCH) -> RolledUp:
    """Merge up to `batch` entries of the queue in one transaction, as `RollupWriter.rollup` does."""
    return RollupWriter(engine).rollup(batch=batch)


def _levels(connection: Connection, touched: list[int]) -> tuple[frozenset[int], frozenset[int]]:
    """The given days that have a daily rollup, and those of them that have no hour cells."""
    with_daily_rollup = rollup_days.with_daily_rollup(connection, touched)
    return with_daily_rollup, without_hours(connection, with_daily_rollup)


def _of_days_kept(connection: Connection, taken: Sequence[Entry]) -> list[Entry]:
    """The entries whose day still has facts; cells of dropped days are never changed."""
    kept = set(partitions.existing(connection))
    return [entry for entry in taken if entry.day in kept]
