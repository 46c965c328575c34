"""The collector's rollup job: merges ingested visits into cells, then days that are closed.

Readers combine merged and waiting visits, so nothing is urgent. Waiting makes transactions large: a cell that
many visits touch is written once for all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic

import structlog
from sqlalchemy import Engine, func, select

from storage.errors import DatabaseError, StorageError
from storage.rollup.apply_queue import BATCH, WORTH_MERGING, RollupWriter
from storage.rollup.compact import compact
from storage.rollup.cubes import HOURS_KEPT_DAYS
from storage.rollup.dead_rows import DeadRows
from storage.rollup.hourly_retention import drop_hours
from storage.rollup.stack_functions import STACK_BYTES, StackFunctions
from storage.schema import rollup_queue

COMPACT_S = 1800.0
"""Between checks for days that have closed."""

_log = structlog.get_logger("collector")


@dataclass(slots=True)
class RollupJob:
    """Merges on one thread at a time; several collectors may run this job in parallel."""

    engine: Engine
    every_s: float
    """A visit waits at most this long; it is merged earlier once `WORTH_MERGING` visits wait."""
    stopped: Callable[[], bool]
    """Called between transactions."""
    stack_bytes: int = STACK_BYTES
    """Memory for the functions of stacks."""
    _writer: RollupWriter = field(init=False)
    _dead_rows: DeadRows = field(init=False)
    _merged_at: float = field(default=float("-inf"), init=False)
    _compacted_at: float = field(default=float("-inf"), init=False)
    _mended: set[tuple[int, int]] = field(default_factory=set, init=False)
    """Buckets and days whose damaged parts were rebuilt; a second rebuild would give the same."""

    def __post_init__(self) -> None:
        self._writer = RollupWriter(self.engine, StackFunctions(self.stack_bytes))
        self._dead_rows = DeadRows(self.engine)

    def merge(self, now: datetime) -> None:
        """Merge what is due. Raises `DatabaseError`; what was committed stays, the rest waits.

        Errors in the data are logged and the data waits for the next run: sampling goes on.
        """
        if monotonic() - self._merged_at >= self.every_s or self._waiting() >= WORTH_MERGING:
            self._unless_damaged(self._merge)
            self._merged_at = monotonic()
        if monotonic() - self._compacted_at >= COMPACT_S and not self.stopped():
            self._compacted_at = monotonic()  # also if it fails: no immediate retry
            self._unless_damaged(lambda: self._close_days(now))

    @staticmethod
    def _unless_damaged(work: Callable[[], None]) -> None:
        try:
            work()
        except DatabaseError:
            raise
        except StorageError as error:
            _log.error("cells cannot be merged", why=str(error))

    def _merge(self) -> None:
        left = self._waiting()
        while not self.stopped():
            rolled_up = self._writer.rollup()
            self._clear()
            if rolled_up.expired:
                _log.warning(
                    "ingested visits of dropped days are left out of the cells", visits=rolled_up.expired
                )
            # A batch is split if it has many facts or a damaged one; the visits of its other parts follow.
            left -= rolled_up.entries
            if not rolled_up.entries or (rolled_up.entries < BATCH and left <= 0):
                return

    def _clear(self) -> None:
        if self.stopped():  # a vacuum may take a minute
            return
        try:
            self._dead_rows.clear()
        except DatabaseError as error:  # a temporarily larger table does not prevent merging
            _log.warning("dead rows of merged cells are not removed", why=str(error))

    def _close_days(self, now: datetime) -> None:
        for level, bucket in compact(self.engine, now, mended=self._mended).buckets:
            _log.info("closed days merged", days=4**level, bucket=bucket)
        with self.engine.begin() as connection:
            if deleted := drop_hours(connection, now.date() - timedelta(days=HOURS_KEPT_DAYS)):
                _log.info("old cells of hours deleted", cells=deleted)

    def _waiting(self) -> int:
        """Entries of the queue, counted up to a batch."""
        some = select(rollup_queue.c.entry_id).limit(BATCH).subquery()
        with self.engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(some)).scalar_one()
