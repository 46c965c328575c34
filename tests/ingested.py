"""Visits with captures to ingest, and what an ingestion left in the database."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Engine, func, select

from storage import campaigns, captures, inventory, partitions, visits
from storage.archive import capture_key
from storage.blobs.fact_blobs import decode_lines, decode_many
from storage.campaigns import Definition, EventPlan
from storage.captures import NewCapture
from storage.ingest.interning import Interner
from storage.ingest.stack_hash import hash_runs
from storage.ingest.stack_rows import StackRows
from storage.inventory import NewMachine
from storage.schema import capture, chunk, function, line_chunk, profile, rollup_queue, rollup_retraction
from storage.visits import DrawnVisit
from tests.dictionary_stacks import functions_by_stack

BEFORE_MIDNIGHT = datetime(2026, 11, 20, 23, 59, 58, tzinfo=UTC)
DAY = BEFORE_MIDNIGHT.date()

Stacks = Counter[tuple[int, tuple[str, ...]]]
"""Samples by (segment, function names outermost first)."""


def archived(
    engine: Engine,
    count: int = 1,
    *,
    drawn_at: datetime = BEFORE_MIDNIGHT,
    partition: bool = True,
    machine: NewMachine = NewMachine("m", "h:1"),  # noqa: B008 - it is frozen
) -> list[UUID]:
    """Committed visits whose captures wait to be ingested; their day's partitions are there."""
    with engine.begin() as connection:
        if partition:
            partitions.ensure(connection, [drawn_at.date()])
        definition = Definition("fleet", 60, 1, (EventPlan("cpu", 5000, rate_hz=99),))
        campaign_id = campaigns.create_or_update(connection, definition).campaign_id
        machine_id = inventory.add(connection, machine, replace=True)
        stratum_id = inventory.stratum_ids(connection, [("", "")])["", ""]
        drawn = [
            DrawnVisit(uuid4(), campaign_id, 0, machine_id, stratum_id, 1, 1, 1.0, drawn_at)
            for _ in range(count)
        ]
        visits.record_draw(connection, drawn)
        for visit in drawn:
            key = capture_key(visit.day, visit.visit_id)
            sha256 = hashlib.sha256(key.encode()).digest()
            captures.record(connection, NewCapture(visit.visit_id, visit.day, key, 1, 1, sha256, 1))
        return [visit.visit_id for visit in drawn]


@dataclass(frozen=True, slots=True)
class Stored:
    """All the facts of a visit as they are in the database."""

    generation: int
    """`capture.ingested`."""
    stacks: Stacks
    profiles: int
    units: int
    """Σ samples × period over all events."""


def stored(engine: Engine, visit_id: UUID) -> Stored:
    """Reads everything of the visit and checks that its parts agree with one another."""
    with engine.connect() as connection:
        ingested = connection.scalars(select(capture.c.ingested).where(capture.c.visit_id == visit_id)).one()
        rows = connection.execute(
            select(
                profile,
                chunk.c.data,
                line_chunk.c.data.label("lines"),
                line_chunk.c.facts.label("line_facts"),
            )
            .join(
                chunk,
                (chunk.c.day == profile.c.day) & (chunk.c.profile_id == profile.c.profile_id),
                isouter=True,
            )
            .join(
                line_chunk,
                (line_chunk.c.day == profile.c.day) & (line_chunk.c.profile_id == profile.c.profile_id),
                isouter=True,
            )
            .where(profile.c.visit_id == visit_id)
        ).all()
        names = _names(connection)
        frames = functions_by_stack(connection)
        orphans = connection.scalars(
            select(func.count())
            .select_from(chunk)
            .where(chunk.c.profile_id.not_in(select(profile.c.profile_id)))
        ).one()
    assert orphans == 0
    stacks: Stacks = Counter()
    for row in rows:
        assert row.generation == ingested
        ids, values = decode_many([bytes(row.data)], [row.facts])
        assert int(values.sum()) == row.samples
        for id_, value in zip(ids.tolist(), values.tolist(), strict=True):
            stacks[row.segment, tuple(names[f] for f in frames[id_])] += value
        if row.lines is not None:
            lines = decode_lines([bytes(row.lines)], [row.line_facts])
            assert int(lines.self_samples.sum()) <= row.samples
    return Stored(ingested, stacks, len(rows), sum(row.samples * row.period for row in rows))


def _names(connection: Connection) -> dict[int, str]:
    rows = connection.execute(select(function.c.function_id, function.c.alias_of, function.c.name)).all()
    name = {row.function_id: row.name for row in rows}
    return {row.function_id: name[row.alias_of or row.function_id] for row in rows}


def queued(engine: Engine, visit_ids: Sequence[UUID]) -> dict[UUID, list[tuple[int, int]]]:
    """For each visit its entries for the merging of cells: (sign, units), in order."""
    entries: dict[UUID, list[tuple[int, int]]] = {visit_id: [] for visit_id in visit_ids}
    with engine.connect() as connection:
        rows = connection.execute(
            select(
                rollup_queue.c.visit_id,
                rollup_queue.c.sign,
                func.coalesce(func.sum(rollup_retraction.c.samples * rollup_retraction.c.period), 0).label(
                    "units"
                ),
            )
            .join(rollup_retraction, rollup_retraction.c.entry_id == rollup_queue.c.entry_id, isouter=True)
            .where(rollup_queue.c.visit_id.in_(list(visit_ids)))
            .group_by(rollup_queue.c.entry_id)
            .order_by(rollup_queue.c.entry_id)
        ).all()
    for row in rows:
        entries[row.visit_id].append((row.sign, int(row.units)))
    return entries


def interned(interner: Interner, stacks: Sequence[Sequence[int]]) -> npt.NDArray[np.int32]:
    """Ids of stacks given by their function ids, outermost first."""
    offsets = np.cumsum([0, *map(len, stacks)], dtype=np.int64)
    innermost_first = np.array([id_ for stack in stacks for id_ in reversed(stack)], np.int32)
    hashes = hash_runs(innermost_first, np.arange(len(innermost_first)), offsets)

    def rows_of(asked: npt.NDArray[np.int64]) -> StackRows:
        depth = np.array([len(stacks[i]) for i in asked.tolist()], np.int64)
        flat = np.array([id_ for i in asked.tolist() for id_ in stacks[i]], np.int32)
        return StackRows(np.arange(len(asked)), hashes[asked], depth, flat)

    return interner.stacks(hashes, rows_of)
