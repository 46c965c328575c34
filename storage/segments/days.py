"""Some days of a lake as one question after the other reads them: their files never change, so what was learnt of them stays."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

import duckdb

from storage.query.copy_binary import Rows
from storage.segments.dictionary import Dictionary
from storage.segments.duck import Limits, interrupted, open_duck
from storage.segments.manifest import Manifest
from storage.segments.place import Lake
from storage.segments.session import Session

_SETS_OF_DAYS = 4
"""Sets of days whose stacks and functions are kept between answers."""


class Days:
    """The files of some days of one database. Safe to share between threads."""

    def __init__(self, lake: Lake, manifests: Sequence[Manifest], limits: Limits) -> None:
        """Nothing is opened yet."""
        self.manifests = tuple(manifests)
        self.dictionary = Dictionary()
        self._lake = lake
        self._limits = limits
        self._learnt: dict[str, Rows] = {}
        self._lock = Lock()
        self._idle: duckdb.DuckDBPyConnection | None = None

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A DuckDB of the block's own, with all of `limits`: the one that an earlier block left, or a new one."""
        duck = self._swapped(None) or open_duck(self._lake, self.manifests, self._limits)
        try:
            with interrupted(duck, self._limits.timeout_s):
                yield Session(duck, self._learnt)
        except BaseException:
            duck.close()
            raise
        if (other := self._swapped(duck)) is not None:
            other.close()

    def close(self) -> None:
        """Close the DuckDB that waits for the next block; a later block opens a new one."""
        if (idle := self._swapped(None)) is not None:
            idle.close()

    def _swapped(self, duck: duckdb.DuckDBPyConnection | None) -> duckdb.DuckDBPyConnection | None:
        """The DuckDB that has been waiting for the next block, in whose place `duck` is put."""
        with self._lock:
            idle, self._idle = self._idle, duck
        return idle


class KnownDays:
    """The sets of days asked about last: their stacks and functions, and of the last one an open DuckDB. Safe to share between threads."""

    def __init__(self, lake: Lake, limits: Limits) -> None:
        self._lake = lake
        self._limits = limits
        self._lock = Lock()
        self._known: dict[tuple[str, ...], Days] = {}

    def of(self, manifests: Sequence[Manifest]) -> Days:
        """The days of exactly these files."""
        key = tuple(manifest.stamp for manifest in manifests)
        with self._lock:
            found = self._known.pop(key, None) or Days(self._lake, manifests, self._limits)
            for other in self._known.values():
                other.close()
            self._known[key] = found
            while len(self._known) > _SETS_OF_DAYS:
                self._known.pop(next(iter(self._known)))
        return found

    def close(self) -> None:
        """Close the DuckDB that waits for the next question; a later question opens a new one."""
        with self._lock:
            for days in self._known.values():
                days.close()
