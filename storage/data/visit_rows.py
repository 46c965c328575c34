"""Reads visits with a capture, a page at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, select
from sqlalchemy.sql.elements import ColumnElement

from storage.data.stream_position import Order, Place
from storage.schema import BY_HAND, capture, machine, stratum, visit


@dataclass(frozen=True, slots=True)
class CaptureRow:
    """The row of a visit's capture."""

    blob: str
    """Archive key; "" after retention deleted the blob."""
    size: int
    raw_size: int
    sha256: bytes
    archived_at: datetime
    generation: int
    """The ingested generation; 0: none."""
    ingested_at: datetime | None
    expired: bool
    """Its day was deleted before it could be ingested."""


@dataclass(frozen=True, slots=True)
class VisitRow:
    """A visit, its machine and its stratum."""

    id: UUID
    day: date
    drawn_at: datetime
    by_hand: bool
    probability: float
    machine: str
    stratum: int
    datacenter: str
    platform: str
    thinning: int
    cluster: str
    kernel: str
    population: int
    drawn: int
    utilisation: float | None
    seconds: float
    capture: CaptureRow

    def place(self, order: Order) -> Place:
        """Its position in a stream."""
        moment = {
            Order.DRAWN: self.drawn_at,
            Order.INGESTED: self.capture.ingested_at,
            Order.ARCHIVED: self.capture.archived_at,
        }[order]
        assert moment is not None, "an ingested capture has its time"
        return Place(moment, self.id)


_VISIT = (
    visit.c.visit_id, visit.c.day, visit.c.drawn_at, visit.c.round, visit.c.probability, machine.c.name,
    visit.c.stratum_id, stratum.c.datacenter, stratum.c.platform, stratum.c.thinning, visit.c.cluster,
    visit.c.kernel, visit.c.population, visit.c.drawn, visit.c.utilisation, visit.c.seconds,
)  # fmt: skip
_CAPTURE = (
    capture.c.blob, capture.c.bytes, capture.c.raw_bytes, capture.c.sha256, capture.c.archived_at,
    capture.c.ingested, capture.c.ingested_at, capture.c.expired,
)  # fmt: skip


def read_visits(
    connection: Connection,
    conditions: Sequence[ColumnElement[bool]],
    order: Order,
    after: Place,
    *,
    limit: int,
) -> list[VisitRow]:
    """The next visits behind a position that have a capture and satisfy the conditions."""
    rows = connection.execute(
        select(*_VISIT, *_CAPTURE)
        .join(capture, capture.c.visit_id == visit.c.visit_id)
        .join(machine, machine.c.machine_id == visit.c.machine_id)
        .join(stratum, stratum.c.stratum_id == visit.c.stratum_id)
        # The index serves the plain bound; the pair only resolves ties.
        .where(*conditions, order.moment >= after.moment, after.before(order))
        .order_by(order.moment, visit.c.visit_id)
        .limit(limit)
    )
    return [_visit(row) for row in rows]


def _visit(row: Any) -> VisitRow:
    return VisitRow(
        id=row.visit_id,
        day=row.day,
        drawn_at=row.drawn_at,
        by_hand=row.round == BY_HAND,
        probability=row.probability,
        machine=row.name,
        stratum=row.stratum_id,
        datacenter=row.datacenter,
        platform=row.platform,
        thinning=row.thinning,
        cluster=row.cluster,
        kernel=row.kernel,
        population=row.population,
        drawn=row.drawn,
        utilisation=row.utilisation,
        seconds=row.seconds or 0.0,
        capture=CaptureRow(
            blob=row.blob,
            size=row.bytes,
            raw_size=row.raw_bytes,
            sha256=bytes(row.sha256),
            archived_at=row.archived_at,
            generation=row.ingested,
            ingested_at=row.ingested_at,
            expired=row.expired,
        ),
    )
