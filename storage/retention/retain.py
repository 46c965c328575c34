"""One round of retention: deletes everything that is too old."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from sqlalchemy import Engine

from storage import partitions
from storage.archive import Archive
from storage.errors import DatabaseBusy
from storage.retention.fact_days import OldDay, drop_oldest
from storage.retention.history import drop_cells, drop_visits, kept_from
from storage.retention.raw import DroppedCaptures, drop_captures
from storage.symbols.symbol_retention import RetainedSymbols, retain_symbols

HOPELESS_DAYS = 14
"""Facts this old are deleted even if they are not merged into cells."""
_TRIES = 10
_PAUSE_S = 0.5
"""Pause between attempts to lock the facts against readers."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Days of retention, today not counted."""

    facts_days: int
    cells_days: int
    """A minimum: cells are deleted in buckets of 64 days, and never before facts, even if these are kept back."""
    symbols_days: int = 90
    """Counts from the last use of a debug file or derived file and from its binary's last capture."""
    fetched_bytes: int = 1 << 30
    """Limit for sources that were fetched for readers; retention frees space within it."""

    def facts_horizon(self, today: date) -> date:
        """The first day whose facts and raw captures are kept."""
        return today - timedelta(days=self.facts_days)

    def cells_horizon(self, today: date) -> date:
        """The first day whose cells and visits are kept, unless facts are kept back."""
        return kept_from(today - timedelta(days=max(self.cells_days, self.facts_days)))


@dataclass(frozen=True, slots=True)
class Retained:
    """The result of a retention round."""

    facts_horizon: date
    cells_horizon: date
    """At the latest the bucket of the oldest day that still has facts."""
    dropped: tuple[OldDay, ...] = ()
    """Days whose facts were dropped, ascending."""
    kept_back: OldDay | None = None
    """The first day that stays, with all later ones, until its visits are merged into cells."""
    busy: bool = False
    """Readers prevented the drop of a day."""
    raw: DroppedCaptures = field(default_factory=DroppedCaptures)
    cells: int = 0
    """Rows of cells, coverage and exposure."""
    visits: int = 0
    symbols: RetainedSymbols = field(default_factory=RetainedSymbols)


def retain(
    engine: Engine,
    archive: Archive,
    today: date,
    keep: Keep,
    *,
    stopping: Callable[[], bool] = lambda: False,
) -> Retained:
    """Delete everything older than `keep` allows; ends early between two transactions if `stopping`.

    Raises `ArchiveError` if raw captures or symbols cannot be deleted, which come after facts and cells, and
    `DatabaseError`. A repeated call continues. Safe to run concurrently.
    """
    done = _drop_facts(engine, Retained(keep.facts_horizon(today), keep.cells_horizon(today)), stopping)
    with engine.connect() as connection:
        facts = partitions.oldest(connection)
    raw_from = min(done.facts_horizon, facts or done.facts_horizon)
    # A day that is kept back is still merged into cells, which need its coverage.
    done = replace(done, cells_horizon=min(done.cells_horizon, kept_from(raw_from)))
    if not stopping():
        with engine.begin() as connection:
            done = replace(done, cells=drop_cells(connection, done.cells_horizon))
    while not stopping():
        with engine.begin() as connection:
            batch = drop_captures(connection, archive, raw_from)
        if not batch.captures:
            break
        done = replace(done, raw=done.raw + batch)
    while not stopping():
        with engine.begin() as connection:
            visits = drop_visits(connection, done.cells_horizon)
        if not visits:
            break
        done = replace(done, visits=done.visits + visits)
    if not stopping():
        symbols = retain_symbols(
            engine, archive, keep.symbols_days, fetched_bytes=keep.fetched_bytes, stopping=stopping
        )
        done = replace(done, symbols=symbols)
    return done


def _drop_facts(engine: Engine, done: Retained, stopping: Callable[[], bool]) -> Retained:
    hopeless = done.facts_horizon - timedelta(days=HOPELESS_DAYS)
    tries = 0
    while not stopping():
        try:
            with engine.begin() as connection:
                old = drop_oldest(connection, done.facts_horizon, hopeless=hopeless)
        except DatabaseBusy:
            tries += 1
            if tries == _TRIES:
                return replace(done, busy=True)
            time.sleep(_PAUSE_S)
            continue
        if old is None:
            break
        if not old.dropped:
            return replace(done, kept_back=old)
        done = replace(done, dropped=(*done.dropped, old))
    return done
