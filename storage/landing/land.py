"""Landing: a symbolized capture becomes rows, exactly once per generation.

The transaction holds the dictionaries' epoch (`storage.landing.epoch`) and claims the generation,

    UPDATE capture SET landed = g WHERE visit_id = … AND landed < g

so of any number of workers with the same capture one goes on and the others, after it commits, find
nothing to do; a worker that dies leaves nothing. Dictionary rows are committed before, in
transactions of their own. A newer generation takes the older one's rows out in the same
transaction, and leaves the cells' share of them in `roll_replaced` if they were merged already.
"""

from dataclasses import dataclass
from datetime import date
from typing import Literal
from uuid import UUID

from sqlalchemy import Connection, Engine, delete, func, insert, literal, select, text, update

from fleetpb import capture_pb2
from storage import partitions
from storage.errors import BadCapture, PartitionMissing
from storage.landing.assembly import Assembly, assemble
from storage.landing.copying import copy_into
from storage.landing.errors import DictionarySwept, UnknownCapture
from storage.landing.interning import Interner
from storage.landing.resolved import ResolvedFrames
from storage.landing.rows import VisitFacts
from storage.schema import (
    capture,
    capture_binary,
    capture_counter,
    capture_cpu,
    capture_segment,
    chunk,
    line_chunk,
    machine,
    profile,
    roll_queue,
    roll_replaced,
    stratum,
    visit,
)


@dataclass(frozen=True, slots=True)
class Landed:
    """What came of a landing."""

    outcome: Literal["landed", "already", "expired"]
    """`already`: this generation or a newer one is there; `expired`: its day was dropped by retention."""
    profiles: int = 0
    facts: int = 0
    samples: int = 0


def land(  # noqa: PLR0917 - the contract of the pipeline's last step
    engine: Engine,
    interner: Interner,
    visit_id: UUID,
    generation: int,
    message: capture_pb2.Capture,
    resolved: ResolvedFrames,
) -> Landed:
    """Write the capture's facts as `generation`, unless it or a newer one is written already.

    `message` is what `decode_capture` returned, `resolved` speaks of its frames. Raises
    `UnknownCapture`, `BadCapture` (of another visit), `PartitionMissing` (not made yet: try again)
    and other `DatabaseError`s; after any of them no fact has changed.
    """
    if message.visit_id != visit_id.bytes:
        raise BadCapture(f"The capture says it is of another visit than {visit_id}.")
    with engine.connect() as connection:
        facts, landed = _visit_facts(connection, visit_id)
    if landed >= generation:
        return Landed("already")
    while True:
        try:
            rows = assemble(interner, facts, generation, message, resolved)
            return _write(engine, interner, facts, generation, rows)
        except DictionarySwept:  # at most once a sweep: the interner has forgotten what it knew
            continue


def _write(engine: Engine, interner: Interner, facts: VisitFacts, generation: int, rows: Assembly) -> Landed:
    visit_id = facts.visit_id
    try:
        with engine.begin() as connection:
            interner.hold(connection)
            if not _claim(connection, visit_id, generation):
                return Landed("already")
            if generation > 1:
                _take_out(connection, visit_id, facts.day)
            _put_in(connection, facts, rows)
    except PartitionMissing:
        with engine.begin() as connection:
            if not _dropped(connection, facts.day):
                raise
            expired = _claim(connection, visit_id, generation, expired=True)
            connection.execute(delete(roll_queue).where(roll_queue.c.visit_id == visit_id))
        return Landed("expired" if expired else "already")
    return Landed("landed", rows.profiles, rows.facts, rows.samples)


def _visit_facts(connection: Connection, visit_id: UUID) -> tuple[VisitFacts, int]:
    row = connection.execute(
        select(
            visit.c.visit_id,
            visit.c.day,
            visit.c.hour,
            visit.c.campaign_id,
            visit.c.stratum_id,
            visit.c.machine_id,
            stratum.c.datacenter,
            machine.c.cluster,
            stratum.c.platform,
            machine.c.kernel,
            capture.c.landed,
        )
        .join(capture, capture.c.visit_id == visit.c.visit_id)
        .join(stratum, stratum.c.stratum_id == visit.c.stratum_id)
        .join(machine, machine.c.machine_id == visit.c.machine_id)
        .where(visit.c.visit_id == visit_id)
    ).one_or_none()
    if row is None:
        raise UnknownCapture(f"There is no capture of visit {visit_id}.")
    return VisitFacts(*row[:-1]), row.landed


def _claim(connection: Connection, visit_id: UUID, generation: int, *, expired: bool = False) -> bool:
    """Take the generation; False: it was taken. Others with the same visit wait for our commit here."""
    # PostgreSQL itself says what remains to be landed: if its crash loses this commit, the row that
    # says so is lost with it and the capture is landed again. So nobody need wait for the disk.
    connection.execute(text("SET LOCAL synchronous_commit = off"))
    claimed = connection.execute(
        update(capture)
        .where(capture.c.visit_id == visit_id, capture.c.landed < generation)
        .values(
            landed=generation,
            landed_at=func.now(),
            expired=expired,
            leased_until=None,
            failure="",
            set_aside=None,
        )
    )
    return claimed.rowcount == 1


def _take_out(connection: Connection, visit_id: UUID, day: date) -> None:
    """Remove what an older generation wrote."""
    # Waits for whoever is merging this entry now; then it is gone, and was merged.
    pending = connection.execute(
        delete(roll_queue).where(roll_queue.c.visit_id == visit_id, roll_queue.c.sign == 1)
    ).rowcount
    mine = (profile.c.day == day) & (profile.c.visit_id == visit_id)
    watched = select(capture_segment.c.segment).where(
        capture_segment.c.visit_id == visit_id, capture_segment.c.sample_type_id.is_not(None)
    )
    if not pending and connection.scalar(select(watched.exists())):
        entry = connection.scalar(
            insert(roll_queue).values(day=day, visit_id=visit_id, sign=-1).returning(roll_queue.c.entry_id)
        )
        kept = [c.name for c in roll_replaced.c if c.name not in ("entry_id", "data")]
        old = (
            select(literal(entry), *(profile.c[name] for name in kept), chunk.c.data)
            .join(chunk, (chunk.c.day == profile.c.day) & (chunk.c.profile_id == profile.c.profile_id))
            .where(mine, chunk.c.day == day)
        )
        connection.execute(insert(roll_replaced).from_select(["entry_id", *kept, "data"], old))
    ids = select(profile.c.profile_id).where(mine)
    for table in (chunk, line_chunk):
        connection.execute(delete(table).where(table.c.day == day, table.c.profile_id.in_(ids)))
    connection.execute(delete(profile).where(mine))
    for table in (capture_segment, capture_binary, capture_cpu, capture_counter):
        connection.execute(delete(table).where(table.c.visit_id == visit_id))


def _put_in(connection: Connection, facts: VisitFacts, rows: Assembly) -> None:
    for table_rows in rows.tables:
        if table_rows.rows:
            copy_into(connection, table_rows.table, table_rows.columns, table_rows.rows)
    if rows.watched:  # an idle machine too: its seconds are exposure, and enter the cells with the visit
        connection.execute(insert(roll_queue).values(day=facts.day, visit_id=facts.visit_id, sign=1))


def _dropped(connection: Connection, day: date) -> bool:
    """Retention drops whole days from the oldest on: a missing day before them all was dropped."""
    days = partitions.existing(connection)
    return bool(days) and day < days[0]
