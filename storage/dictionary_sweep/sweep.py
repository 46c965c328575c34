"""Runs one complete sweep."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Engine

from storage.database import snapshot
from storage.dictionary_sweep import epochs
from storage.dictionary_sweep.delete import delete_unused
from storage.dictionary_sweep.delete_stacks import delete_unused_stacks, forget_unused_stacks
from storage.dictionary_sweep.marks import Marks
from storage.dictionary_sweep.scan import Scan

EVERY = timedelta(days=7)
"""Unused rows cost only space, while a sweep reads everything."""


@dataclass(frozen=True, slots=True)
class Swept:
    """The result of a sweep."""

    facts: int
    """Facts and lines read."""
    corrupt: int
    """Blobs that did not decode."""
    scan_s: float
    """Time of the scan, without pauses."""
    freed: Mapping[str, int]
    """Deleted rows by dictionary."""
    looked_at: Mapping[str, int]
    """The highest id of each dictionary at the beginning."""


class _Stop(Exception):
    """A stop of the sweep was requested."""


def sweep_if_due(
    engine: Engine, now: datetime, *, rest: float = 1.0, stopping: Callable[[], bool] = lambda: False
) -> Swept | None:
    """Sweep if the last one was a week ago or was interrupted; None: it was not due, or did not complete."""
    with engine.connect() as connection:
        due = epochs.is_due(connection, now, EVERY)
    return sweep(engine, rest=rest, stopping=stopping) if due else None


def sweep(engine: Engine, *, rest: float = 0.0, stopping: Callable[[], bool] = lambda: False) -> Swept | None:
    """Delete unused dictionary rows; None: another sweep is running, or `stopping`.

    Pauses `rest` seconds per second of work, to limit its load. Raises `DatabaseError`, including `SweepOvertaken`.
    However it ends, no row in use is deleted.
    """
    with epochs.the_only_one(engine) as is_mine:
        if not is_mine:
            return None
        pace = _Pace(rest, stopping)
        epoch, highest = epochs.begin(engine)
        try:
            swept = _sweep(engine, epoch, highest, pace)
        except _Stop:
            swept = None
        epochs.end(engine, epoch, swept=swept is not None)
        return swept


def _sweep(engine: Engine, epoch: int, highest: Mapping[str, int], pace: "_Pace") -> Swept:
    marks = Marks({name: high for name, high in highest.items() if name != "binary"})
    with snapshot(engine) as connection:
        scan = Scan(connection, marks, pace.between)
        scan.facts()
    scan_s = pace.worked_s

    def freed_of(name: str) -> int:
        known = marks if name in marks.highest else None
        return delete_unused(engine, epoch, name, highest[name], marks=known, between=pace.between)

    freed = {
        "stack": forget_unused_stacks(engine, epoch, highest["stack"], marks=marks, between=pace.between)
    }
    delete_unused_stacks(engine, epoch, highest["stack"], marks=marks, between=pace.between)
    with snapshot(engine) as connection:
        # Later stacks consist of touched or new functions.
        Scan(connection, marks, pace.between).functions()
    for name in ("function", "label_set", "dim_value", "binary"):
        freed[name] = freed_of(name)
    return Swept(scan.done.facts + scan.done.lines, scan.done.corrupt, scan_s, freed, dict(highest))


class _Pace:
    """Limits the work to its share of the time, and stops it on request."""

    def __init__(self, rest: float, stopping: Callable[[], bool]) -> None:
        self._rest = rest
        self._stopping = stopping
        self._began = time.monotonic()
        self.worked_s = 0.0

    def between(self) -> None:
        """Call it after every piece of work."""
        worked = time.monotonic() - self._began
        self.worked_s += worked
        if self._stopping():
            raise _Stop
        if self._rest:
            time.sleep(worked * self._rest)
        self._began = time.monotonic()
