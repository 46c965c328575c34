"""Ingestion: write a symbolized capture as rows, exactly once per generation.

The transaction holds the dictionaries' epoch (`storage.ingest.dictionary_epoch`) and claims the generation:

    UPDATE capture SET ingested = g WHERE visit_id = … AND ingested < g

So of any number of workers with the same capture one proceeds. The others wait for its commit and find nothing to do. A
worker that dies leaves nothing behind. Dictionary rows are committed before, in transactions of their own. A newer
generation deletes the older one's rows in the same transaction. If these were merged into cells already, it copies them
to `rollup_retraction`.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import Literal
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Connection,
    Engine,
    Integer,
    Uuid,
    cast,
    column,
    delete,
    func,
    insert,
    literal,
    select,
    text,
    update,
)

from fleetpb import capture_pb2
from storage import partitions
from storage.errors import BadCapture, DatabaseUnavailable, PartitionMissing
from storage.ingest.assembly import Assembly, Material, assemble
from storage.ingest.copy_in import copy_into
from storage.ingest.errors import DictionarySwept, UnknownCapture
from storage.ingest.interning import Interner
from storage.ingest.symbolized import ResolvedFrames
from storage.ingest.table_rows import VisitFacts
from storage.schema import (
    capture,
    capture_binary,
    capture_counter,
    capture_cpu,
    capture_segment,
    capture_system,
    chunk,
    line_chunk,
    profile,
    rollup_queue,
    rollup_retraction,
    stratum,
    visit,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of one ingestion."""

    outcome: Literal["ingested", "already", "expired", "failed"]
    """`already`: this generation or a newer one is stored. `expired`: retention has dropped its day. `failed`: nothing
    has changed and `error` has the reason; it occurs only when several captures are ingested together."""
    profiles: int = 0
    facts: int = 0
    samples: int = 0
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class ToIngest:
    """A symbolized capture and the generation to ingest it as."""

    visit_id: UUID
    generation: int
    capture: capture_pb2.Capture
    """The result of `decode_capture`."""
    resolved: ResolvedFrames
    """Names of the capture's frames."""


def ingest(  # noqa: PLR0917 - the contract of the pipeline's last step
    engine: Engine,
    interner: Interner,
    visit_id: UUID,
    generation: int,
    message: capture_pb2.Capture,
    resolved: ResolvedFrames,
) -> Ingested:
    """Write the capture's facts as `generation`, unless it or a newer one is stored already.

    `message` is the result of `decode_capture`, `resolved` has the names of its frames. Raises `UnknownCapture`,
    `BadCapture` (of another visit), `PartitionMissing` (not created yet: try again) and other `DatabaseError`s; after
    any of them no fact has changed.
    """
    return _ingest(engine, interner, [ToIngest(visit_id, generation, message, resolved)])[0]


def ingest_many(engine: Engine, interner: Interner, items: Sequence[ToIngest]) -> list[Ingested]:
    """Ingest several captures of different visits in one transaction; return the result of each, in order.

    Missing dictionary rows are looked up and inserted at once, and every table gets one COPY. If one capture fails, all
    are ingested one by one, so that it does not affect the others; its error is in its `Ingested` and not raised.
    Raises only `DatabaseUnavailable`: then each attempt would wait for the database again.
    """
    try:
        return _ingest(engine, interner, items)
    except DatabaseUnavailable:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a capture brings about, it is that capture's alone
        if len(items) == 1:
            return [Ingested("failed", error=error)]
        log.info("ingesting captures one by one: captures=%d why=%s", len(items), error)
        return [ingested for item in items for ingested in ingest_many(engine, interner, [item])]


def _ingest(engine: Engine, interner: Interner, items: Sequence[ToIngest]) -> list[Ingested]:
    if len({item.visit_id for item in items}) < len(items):
        raise ValueError("a visit occurs twice in one ingestion")
    for item in items:
        if item.capture.visit_id != item.visit_id.bytes:
            raise BadCapture(f"The capture belongs to another visit than {item.visit_id}.")
    with engine.connect() as connection:
        known = _visit_facts(connection, [item.visit_id for item in items])
    outcomes: dict[UUID, Ingested] = {}
    todo = []
    for item in items:
        facts, ingested = known[item.visit_id]
        if ingested >= item.generation:
            outcomes[item.visit_id] = Ingested("already")
        else:
            todo.append(Material(facts, item.generation, item.capture, item.resolved))
    while todo:
        try:
            outcomes |= _write(engine, interner, todo, assemble(interner, todo))
            break
        except DictionarySwept:  # at most once per sweep: the interner has cleared its caches
            continue
    return [outcomes[item.visit_id] for item in items]


def _write(
    engine: Engine, interner: Interner, materials: Sequence[Material], assemblies: Sequence[Assembly]
) -> dict[UUID, Ingested]:
    wanted = {material.visit.visit_id: material.generation for material in materials}
    try:
        with engine.begin() as connection:
            interner.hold(connection)
            claimed = _claim(connection, wanted)
            mine = [
                (material, rows)
                for material, rows in zip(materials, assemblies, strict=True)
                if material.visit.visit_id in claimed
            ]
            for material, _ in mine:
                if material.generation > 1:
                    _take_out(connection, material.visit.visit_id, material.visit.day)
            _put_in(connection, mine)
    except PartitionMissing:
        if len(materials) > 1:
            raise
        [visit] = [material.visit for material in materials]
        with engine.begin() as connection:
            if not _dropped(connection, visit.day):
                raise
            expired = _claim(connection, wanted, expired=True)
            connection.execute(delete(rollup_queue).where(rollup_queue.c.visit_id == visit.visit_id))
        return {visit.visit_id: Ingested("expired" if expired else "already")}
    ingested = {
        material.visit.visit_id: Ingested("ingested", rows.profiles, rows.facts, rows.samples)
        for material, rows in mine
    }
    return {visit_id: ingested.get(visit_id, Ingested("already")) for visit_id in wanted}


def _visit_facts(connection: Connection, visit_ids: Sequence[UUID]) -> dict[UUID, tuple[VisitFacts, int]]:
    """Properties of the visits, and the generation each is ingested in."""
    rows = connection.execute(
        select(
            visit.c.visit_id,
            visit.c.day,
            visit.c.hour,
            visit.c.campaign_id,
            visit.c.stratum_id,
            visit.c.machine_id,
            stratum.c.datacenter,
            visit.c.cluster,
            stratum.c.platform,
            visit.c.kernel,
            capture.c.ingested,
        )
        .join(capture, capture.c.visit_id == visit.c.visit_id)
        .join(stratum, stratum.c.stratum_id == visit.c.stratum_id)
        .where(visit.c.visit_id.in_(visit_ids))
    )
    known = {row.visit_id: (VisitFacts(*row[:-1]), row.ingested) for row in rows}
    for visit_id in visit_ids:
        if visit_id not in known:
            raise UnknownCapture(f"Visit {visit_id} has no capture.")
    return known


def _claim(connection: Connection, wanted: Mapping[UUID, int], *, expired: bool = False) -> set[UUID]:
    """Claim the generations by visit; return the claimed visits. Concurrent claims of a visit wait for the commit."""
    # PostgreSQL itself records which captures remain to be ingested: if its crash loses this commit, the record is lost
    # with it and the capture is ingested again. So the commit need not wait for the disk.
    connection.execute(text("SET LOCAL synchronous_commit = off"))
    ids, generations = zip(*sorted(wanted.items()), strict=True)
    # In id order, so that two workers with some of the same captures cannot deadlock.
    connection.execute(
        select(capture.c.visit_id)
        .where(capture.c.visit_id.in_(ids))
        .order_by(capture.c.visit_id)
        .with_for_update(key_share=True)
    )
    asked = (
        func.unnest(cast(list(ids), ARRAY(Uuid)), cast(list(generations), ARRAY(Integer)))
        .table_valued(column("visit_id", Uuid), column("generation", Integer), name="asked")
        .render_derived()
    )
    claimed = connection.scalars(
        update(capture)
        .where(capture.c.visit_id == asked.c.visit_id, capture.c.ingested < asked.c.generation)
        .values(
            ingested=asked.c.generation,
            ingested_at=func.clock_timestamp(),  # not the transaction's start: see storage.data.progress
            expired=expired,
            leased_until=None,
            failure="",
            quarantined=None,
        )
        .returning(capture.c.visit_id)
    )
    return set(claimed)


def _take_out(connection: Connection, visit_id: UUID, day: date) -> None:
    """Delete the rows of an older generation."""
    # Waits if a transaction is merging this entry; if that commits, the entry is gone and its visit is in the cells.
    pending = connection.execute(
        delete(rollup_queue).where(rollup_queue.c.visit_id == visit_id, rollup_queue.c.sign == 1)
    ).rowcount
    mine = (profile.c.day == day) & (profile.c.visit_id == visit_id)
    watched = select(capture_segment.c.segment).where(
        capture_segment.c.visit_id == visit_id, capture_segment.c.sample_type_id.is_not(None)
    )
    if not pending and connection.scalar(select(watched.exists())):
        entry = connection.scalar(
            insert(rollup_queue)
            .values(day=day, visit_id=visit_id, sign=-1)
            .returning(rollup_queue.c.entry_id)
        )
        kept = [c.name for c in rollup_retraction.c if c.name not in ("entry_id", "data")]
        old = (
            select(literal(entry), *(profile.c[name] for name in kept), chunk.c.data)
            .join(chunk, (chunk.c.day == profile.c.day) & (chunk.c.profile_id == profile.c.profile_id))
            .where(mine, chunk.c.day == day)
        )
        connection.execute(insert(rollup_retraction).from_select(["entry_id", *kept, "data"], old))
    ids = select(profile.c.profile_id).where(mine)
    for table in (chunk, line_chunk):
        connection.execute(delete(table).where(table.c.day == day, table.c.profile_id.in_(ids)))
    connection.execute(delete(profile).where(mine))
    for table in (capture_segment, capture_binary, capture_cpu, capture_counter, capture_system):
        connection.execute(delete(table).where(table.c.visit_id == visit_id))


def _put_in(connection: Connection, claimed: Sequence[tuple[Material, Assembly]]) -> None:
    for parts in zip(*(rows.tables for _, rows in claimed), strict=True):
        if any(part.rows for part in parts):
            copy_into(
                connection, parts[0].table, parts[0].columns, chain.from_iterable(part.rows for part in parts)
            )
    # Idle machines too: their seconds are exposure, and enter the cells with the visit.
    watched = [material.visit for material, rows in claimed if rows.watched]
    if watched:
        connection.execute(
            insert(rollup_queue),
            [{"day": visit.day, "visit_id": visit.visit_id, "sign": 1} for visit in watched],
        )


def _dropped(connection: Connection, day: date) -> bool:
    """Retention drops whole days from the oldest on, so a missing day before all others was dropped."""
    days = partitions.existing(connection)
    return bool(days) and day < days[0]
