"""Caches engines and dictionaries per set of days between queries; valid for ever, since files never change."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock

from storage.segments.duck import DuckStatements, Limits
from storage.segments.errors import LakeUnavailable
from storage.segments.location import Lake
from storage.segments.manifest import Manifest
from storage.segments.name_cache import Dictionary
from storage.segments.session import Session, Statements
from storage.snapshots.copy_binary import Rows

OpenEngine = Callable[[Lake, Sequence[Manifest], Limits], Statements]
"""Opens an engine over the files of some days (at least one) of one database."""
DUCKDB, SPARK = "duckdb", "spark://"
_SETS_OF_DAYS = 4
"""Sets of days whose stacks and functions are cached between queries."""


def engine_of(url: str) -> OpenEngine:
    """The engine at a URL: `duckdb`, in this process, or `spark://…`, see `storage.segments.spark`.

    Raises `LakeUnavailable`.
    """
    if url == DUCKDB:
        return DuckStatements
    if not url.startswith(SPARK):
        raise LakeUnavailable(
            f"Unknown engine {url!r} for segments. Use duckdb, or a URL that begins with {SPARK}."
        )
    try:
        from storage.segments.spark import SparkStatements  # noqa: PLC0415 - an optional package
    except ModuleNotFoundError as error:
        raise LakeUnavailable(
            f"Spark for segments needs {error.name}, which is not installed: pip install 'fleetprof[spark]'."
        ) from error
    return partial(SparkStatements, url)


class Days:
    """The files of a set of days of one database. Safe to share between threads."""

    def __init__(
        self, lake: Lake, manifests: Sequence[Manifest], limits: Limits, open_engine: OpenEngine
    ) -> None:
        """No engine is opened yet."""
        self.manifests = tuple(manifests)
        self.dictionary = Dictionary()
        self._lake = lake
        self._limits = limits
        self._open_engine = open_engine
        self._learnt: dict[str, Rows] = {}
        self._lock = Lock()
        self._idle: Statements | None = None

    @contextmanager
    def session(self) -> Iterator[Session]:
        """An engine for the block alone, with all of `limits`: the idle one or a new one."""
        statements = self._swapped(None) or self._open_engine(self._lake, self.manifests, self._limits)
        try:
            with statements.within(self._limits.timeout_s):
                yield Session(statements, self._learnt)
        except BaseException:
            statements.close()
            raise
        if (other := self._swapped(statements)) is not None:
            other.close()

    def close(self) -> None:
        """Close the idle engine; a later block opens a new one."""
        if (idle := self._swapped(None)) is not None:
            idle.close()

    def _swapped(self, statements: Statements | None) -> Statements | None:
        """Store `statements` as the idle engine; return the previous one."""
        with self._lock:
            idle, self._idle = self._idle, statements
        return idle


class KnownDays:
    """The most recently queried sets of days, with stacks and functions; the last one also has an open engine.

    Safe to share between threads.
    """

    def __init__(self, lake: Lake, limits: Limits, open_engine: OpenEngine) -> None:
        self._lake = lake
        self._limits = limits
        self._open_engine = open_engine
        self._lock = Lock()
        self._known: dict[tuple[str, ...], Days] = {}

    def of(self, manifests: Sequence[Manifest]) -> Days:
        """The set of days of exactly these files."""
        key = tuple(manifest.stamp for manifest in manifests)
        with self._lock:
            found = self._known.pop(key, None) or Days(self._lake, manifests, self._limits, self._open_engine)
            for other in self._known.values():
                other.close()
            self._known[key] = found
            while len(self._known) > _SETS_OF_DAYS:
                self._known.pop(next(iter(self._known)))
        return found

    def close(self) -> None:
        """Close the idle engine; a later query opens a new one."""
        with self._lock:
            for days in self._known.values():
                days.close()
