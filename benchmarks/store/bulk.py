"""Bulk loading of facts with known stacks: the codec and COPY."""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import repeat
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
from sqlalchemy import text

from benchmarks.store.database import archived
from benchmarks.store.fleet import PERIOD_NS
from storage.blobs.fact_blobs import encode_many
from storage.database import open_engine
from storage.ingest.copy_in import copy_into
from storage.schema import OF_THE_GROUP, OF_THE_MACHINE, capture_segment, chunk, profile, rollup_queue

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from sqlalchemy import Connection

    from benchmarks.store.synthetic_store import Ids
    from benchmarks.store.vocabulary import Ints

TOGETHER: Final = 16
"""Visits per transaction, as in a worker."""
_COLUMNS = (
    "day", "profile_id", "visit_id", "generation", "campaign_id", "stratum_id", "hour", "machine_id",
    "sample_type_id", "stacks", "segment", "period", "label_set_id", *OF_THE_GROUP, *OF_THE_MACHINE, "facts",
    "samples",
)  # fmt: skip
_SEGMENT_COLUMNS = (
    "visit_id", "segment", "day", "event", "sample_type_id", "stacks", "source", "status", "errno", "seconds", "period",
    "requested_period", "thinned_why", "samples",
)  # fmt: skip


@dataclass(frozen=True)
class BulkVisit:
    """A visit with stacks as ids."""

    visit_id: UUID
    machine: int
    machine_id: int
    stratum_id: int
    campaign_id: int
    hour: int
    """Hour since 1970."""
    applications: list[int]
    """Ids by process group."""
    sizes: Ints
    stacks: npt.NDArray[np.int32]
    """Ids, ascending within each group."""
    counts: npt.NDArray[np.int32]
    version: int = 0
    """Id of the version."""


@dataclass(frozen=True)
class Constants:
    """Ids common to all bulk profiles."""

    sample_type: int
    label_set: int
    others: tuple[int, ...]
    """Ids of all dimensions except application and version, in the order of the columns."""


class Loader:
    """Processes that load visits in parallel."""

    def __init__(self, url: str, ids: Ids, processes: int = 2) -> None:
        self._url, self._ids, self._processes = url, ids, processes
        self._pool = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))
        list(self._pool.map(_connected, [url] * processes))  # the start is not part of loading

    def load(self, visits: Sequence[BulkVisit]) -> float:
        """Load visits that have ended; returns the seconds taken."""
        engine = open_engine(self._url, application="bulk")
        with engine.begin() as connection:
            archived(
                connection, self._ids.places, [(v.visit_id, v.machine, v.hour) for v in visits], ingested=True
            )
        engine.dispose()
        shares = [visits[n :: self._processes] for n in range(self._processes)]
        times = list(self._pool.map(_load, repeat(self._url), shares, repeat(self._ids.constants)))
        return max(ended for _, ended in times) - min(began for began, _ in times)

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown()


def _connected(url: str) -> None:
    engine = open_engine(url, application="bulk")
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))
    engine.dispose()


def _load(url: str, visits: Sequence[BulkVisit], constants: Constants) -> tuple[float, float]:
    """Load visits; returns begin and end by the machine's monotonic clock."""
    engine = open_engine(url, application="bulk")
    began = time.monotonic()
    for first in range(0, len(visits), TOGETHER):
        with engine.begin() as connection:
            connection.execute(text("SET LOCAL synchronous_commit = off"))
            _chunks(connection, visits[first : first + TOGETHER], constants)
    ended = time.monotonic()
    engine.dispose()
    return began, ended


def _day(visit: BulkVisit) -> date:
    return datetime.fromtimestamp(3600 * visit.hour, UTC).date()


def _chunks(connection: Connection, visits: Sequence[BulkVisit], constants: Constants) -> None:
    sizes = np.concatenate([visit.sizes for visit in visits])
    counts = np.concatenate([visit.counts for visit in visits]).astype(np.int64)
    stacks = np.concatenate([visit.stacks for visit in visits]).astype(np.int64)
    blobs = iter(encode_many(stacks, counts, sizes))
    samples = iter(np.add.reduceat(counts, np.cumsum(sizes) - sizes).tolist())
    profiles, chunks, segments = [], [], []
    for visit in visits:
        day, hour = _day(visit), visit.hour
        total = 0
        for slot, (application, size) in enumerate(
            zip(visit.applications, visit.sizes.tolist(), strict=True)
        ):
            profile_id = (visit.visit_id.int >> 65) ^ slot
            here = next(samples)
            total += here
            profiles.append((
                day, profile_id, visit.visit_id, 1, visit.campaign_id, visit.stratum_id, hour, visit.machine_id,
                constants.sample_type, True, 0, PERIOD_NS, constants.label_set, application, visit.version, *constants.others, size, here,
            ))  # fmt: skip
            chunks.append((day, profile_id, next(blobs)))
        segments.append((
            visit.visit_id, 0, day, "cpu", constants.sample_type, True, "cpu-clock", "ok", 0, 5.0, PERIOD_NS, PERIOD_NS,
            "", total,
        ))  # fmt: skip
    copy_into(connection, profile, _COLUMNS, profiles)
    copy_into(connection, chunk, ("day", "profile_id", "data"), chunks)
    copy_into(connection, capture_segment, _SEGMENT_COLUMNS, segments)
    queued = [(_day(visit), visit.visit_id, 1) for visit in visits]
    copy_into(connection, rollup_queue, ("day", "visit_id", "sign"), queued)
