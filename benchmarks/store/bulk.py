"""Facts whose stacks are known, as fast as they go in: the codec and COPY, beside one row a sample."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
from sqlalchemy import text

from benchmarks.store.fleet import PERIOD_NS
from storage.database import open_engine
from storage.landing.codec import encode_many
from storage.landing.copying import HEADER, TRAILER, copy_into, copy_stream
from storage.landing.identities import OF_THE_GROUP, OF_THE_MACHINE
from storage.schema import capture_segment, chunk, profile, roll_queue

if TYPE_CHECKING:
    from threading import Barrier
    from uuid import UUID

    from sqlalchemy import Connection

    from benchmarks.store.vocabulary import Ints

TOGETHER: Final = 16
"""Visits in one transaction, as many as a worker lands."""
_YEAR_2000: Final = 946_684_800
_COLUMNS = (
    "day", "profile_id", "visit_id", "generation", "campaign_id", "stratum_id", "hour", "machine_id",
    "sample_type_id", "stacks", "segment", "period", "label_set_id", *OF_THE_GROUP, *OF_THE_MACHINE, "facts",
    "samples",
)  # fmt: skip
_SEGMENT_COLUMNS = (
    "visit_id", "segment", "day", "event", "sample_type_id", "stacks", "source", "status", "errno", "seconds", "period",
    "requested_period", "thinned_why", "samples",
)  # fmt: skip
ROWS_TABLE: Final = """
    CREATE TABLE fact_row (at timestamptz NOT NULL, sample_type smallint NOT NULL, campaign smallint NOT NULL,
        stratum int NOT NULL, machine int NOT NULL, application int NOT NULL, version int NOT NULL, stack int NOT NULL,
        samples bigint NOT NULL)
"""
ROWS_INDEX: Final = "CREATE INDEX ON fact_row (sample_type, application, at)"


@dataclass(frozen=True)
class BulkVisit:
    """A visit whose stacks have their ids."""

    visit_id: UUID
    machine: int
    machine_id: int
    stratum_id: int
    campaign_id: int
    hour: int
    """Since 1970."""
    applications: list[int]
    """Ids by process group."""
    sizes: Ints
    stacks: npt.NDArray[np.int32]
    """Ascending within each group."""
    counts: npt.NDArray[np.int32]
    version: int = 0
    """Id."""


@dataclass(frozen=True)
class Constants:
    """Ids that all bulk profiles share."""

    sample_type: int
    label_set: int
    others: tuple[int, ...]
    """Of all dimensions but the application and the version, in the order of the columns."""


def load(
    url: str, visits: list[BulkVisit], constants: Constants, start: Barrier, rows_too: list[BulkVisit]
) -> tuple[float, float, float, float]:
    """Load this process's share as chunks, then some visits as rows: (begin, end) of both, by a shared clock."""
    engine = open_engine(url, application="bulk")
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))
    start.wait()
    began = time.monotonic()
    for first in range(0, len(visits), TOGETHER):
        with engine.begin() as connection:
            connection.execute(text("SET LOCAL synchronous_commit = off"))
            _chunks(connection, visits[first : first + TOGETHER], constants)
    ended = time.monotonic()
    start.wait()
    rows_began = time.monotonic()
    for first in range(0, len(rows_too), TOGETHER):
        with engine.begin() as connection:
            connection.execute(text("SET LOCAL synchronous_commit = off"))
            _rows(connection, rows_too[first : first + TOGETHER], constants)
    return began, ended, rows_began, time.monotonic()


def _day(visit: BulkVisit) -> date:
    return datetime.fromtimestamp(3600 * visit.hour, UTC).date()


def _chunks(connection: Connection, visits: list[BulkVisit], constants: Constants) -> None:
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
    copy_into(connection, roll_queue, ("day", "visit_id", "sign"), queued)


def _rows(connection: Connection, visits: list[BulkVisit], constants: Constants) -> None:
    fields = [("count", ">i2")]
    for name, kind in (
        ("at", ">i8"), ("sample_type", ">i2"), ("campaign", ">i2"), ("stratum", ">i4"), ("machine", ">i4"),
        ("application", ">i4"), ("version", ">i4"), ("stack", ">i4"), ("samples", ">i8"),
    ):  # fmt: skip
        fields += [(f"{name} length", ">i4"), (name, kind)]
    parts = []
    for visit in visits:
        rows = np.zeros(len(visit.stacks), np.dtype(fields))
        rows["count"] = 9
        for name, kind in fields[1::2]:
            rows[name] = np.dtype(dict(fields)[name.removesuffix(" length")]).itemsize
            assert kind == ">i4"
        rows["at"] = (3600 * visit.hour - _YEAR_2000) * 1_000_000
        rows["sample_type"], rows["campaign"] = constants.sample_type, visit.campaign_id
        rows["stratum"], rows["machine"] = visit.stratum_id, visit.machine_id
        rows["application"] = np.repeat(visit.applications, visit.sizes)
        rows["version"], rows["stack"], rows["samples"] = visit.version, visit.stacks, visit.counts
        parts.append(rows.tobytes())
    body = io.BytesIO(b"".join((HEADER, *parts, TRAILER)))
    copy_stream(connection, "COPY fact_row FROM STDIN WITH (FORMAT binary)", body)
