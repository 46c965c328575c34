"""Captures that wait in an archive to be ingested by a worker."""

import hashlib
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import zstandard
from sqlalchemy import Engine, Row, select, update

from fleetpb import capture_pb2
from storage import campaigns, captures, inventory, partitions, visits
from storage.archive import Archive, capture_key
from storage.campaigns import Definition, EventPlan
from storage.captures import NewCapture
from storage.inventory import NewMachine
from storage.schema import capture
from storage.visits import DrawnVisit
from symbolizer.elf.file import ElfFile

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SAMPLES = 7
"""Of each capture."""


def a_capture(visit_id: UUID) -> capture_pb2.Capture:
    """One process that spends its time in one function of this interpreter's file."""
    path = os.path.realpath(sys.executable)
    elf = ElfFile(Path(path).read_bytes())
    code = next(s for s in elf.segment_map.segments if s.executable)
    message = capture_pb2.Capture(format=1, visit_id=visit_id.bytes)
    message.strings.extend(["", path, "python3", "cpu", "nanoseconds"])
    message.mappings.add(kind=capture_pb2.Mapping.FILE, path=1, build_id=elf.build_id or b"none")
    message.frames.mapping.append(0)
    message.frames.offset.append(code.offset + code.filesz // 2)
    message.frames.into_function.append(1)
    message.frames.flags.append(1)
    message.stacks.frames.append(0)
    message.stacks.length.append(1)
    message.stacks.end.append(capture_pb2.STACK_END_COMPLETE)
    message.groups.add(comm=2, exe=1, main_mapping=1, processes=1)
    segment = message.segments.add(
        event=3, source=3, unit=4, support=capture_pb2.SUPPORT_OK, period=10_101_010, requested_period=10_101_010,
        stacks=True, duration_ns=5_000_000_000, samples=SAMPLES, cpus=[0],
    )  # fmt: skip
    segment.profiles.add(group=0, stack_delta=[0], count=[SAMPLES])
    return message


class PendingCaptures:
    """One machine whose captures wait in an archive, the earlier archived the longer."""

    def __init__(self, engine: Engine, archive: Archive) -> None:
        self._engine = engine
        self._archive = archive
        self._archived = 0
        with engine.begin() as connection:
            partitions.ensure(connection, [NOON.date()])

    def archive(
        self, raw: bytes | None = None, *, raw_bytes: int = 100, visit_id: UUID | None = None
    ) -> UUID:
        visit_id = visit_id or uuid4()
        blob = zstandard.compress(a_capture(visit_id).SerializeToString() if raw is None else raw)
        key = capture_key(NOON.date(), visit_id)
        self._archived += 1
        with self._engine.begin() as connection:
            definition = Definition("fleet", 60, 1, (EventPlan("cpu", 5000, rate_hz=99),))
            campaign_id = campaigns.create_or_update(connection, definition).campaign_id
            machine_id = inventory.add(connection, NewMachine("m", "h:1"), replace=True)
            stratum_id = inventory.stratum_ids(connection, [("", "")])["", ""]
            drawn = DrawnVisit(visit_id, campaign_id, 0, machine_id, stratum_id, 1, 1, 1.0, NOON)
            visits.record_draw(connection, [drawn])
            self._archive.put(key, blob)
            sha256 = hashlib.sha256(blob).digest()
            new = NewCapture(visit_id, NOON.date(), key, len(blob), raw_bytes, sha256, SAMPLES)
            captures.record(connection, new)
            connection.execute(
                update(capture)
                .where(capture.c.visit_id == visit_id)
                .values(archived_at=NOON + timedelta(seconds=self._archived))
            )
        return visit_id

    def ingested(self, visit_id: UUID) -> bool:
        row = self.row(visit_id)
        return bool(row.ingested == row.wanted)

    def row(self, visit_id: UUID) -> Row[Any]:
        with self._engine.connect() as connection:
            return connection.execute(select(capture).where(capture.c.visit_id == visit_id)).one()

    def due(self) -> list[UUID]:
        with self._engine.connect() as connection:
            return [due.visit_id for due in captures.due(connection, limit=100)]
