"""Single visits with the state of their captures, the newest first."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    case,
    func,
    literal,
    null,
    select,
    true,
    tuple_,
)

from storage import campaigns
from storage.errors import BadSelection
from storage.query.answers.visits import VisitOutcome, VisitRow, VisitsAnswer
from storage.query.selections.times import format_time
from storage.query.shapes.named_machine import find_machine
from storage.query.store_reading import StoreReading
from storage.schema import campaign, capture, machine, visit, visit_request

MOST: Final = 1000
"""Visits of a page."""
LONGEST_CURSOR: Final = 80
_CURSOR: Final = re.compile(r"(\d{1,18})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class VisitsQuestion:
    """Visits that fulfil all given conditions."""

    machine: str = ""
    """Name; empty: all machines."""
    campaign: str = ""
    """Name; empty: all campaigns."""
    outcomes: tuple[VisitOutcome, ...] = ()
    """Empty: all."""
    visit_id: UUID | None = None
    start: datetime | None = None
    """Planned for this time or later; None: no limit."""
    end: datetime | None = None
    """Planned before this time; None: no limit, so visits that are still to come are included."""
    before: str = ""
    """`next` of the previous page; empty: the first page."""
    limit: int = 100

    def answer(self, reading: StoreReading) -> VisitsAnswer:
        """The visits. Raises `UnknownMachine`, `UnknownCampaign`, `BadSelection` for an invalid cursor."""
        connection = reading.connection
        conditions = [*self._times(), *self._page()]
        if self.outcomes:
            conditions.append(visit.c.outcome.in_(self.outcomes))
        if self.visit_id is not None:
            conditions.append(visit.c.visit_id == self.visit_id)
        if self.machine:
            conditions.append(visit.c.machine_id == find_machine(connection, self.machine, removed=True))
        if self.campaign:
            conditions.append(visit.c.campaign_id == campaigns.get(connection, self.campaign).campaign_id)
        one_index = self.visit_id is not None or bool(self.machine or self.campaign)
        ids = (
            _newest(conditions, self.limit + 1) if one_index else _newest_of_each(conditions, self.limit + 1)
        )
        rows = read_visits(connection, ids)
        more = len(rows) > self.limit
        shown = rows[: self.limit]
        return VisitsAnswer(
            visits=tuple(map(visit_row, shown)), next=_cursor(shown[-1]) if more and shown else None
        )

    def _times(self) -> list[ColumnElement[bool]]:
        found = []
        if self.start is not None:
            found.append(visit.c.drawn_at >= self.start)
        if self.end is not None:
            found.append(visit.c.drawn_at < self.end)
        return found

    def _page(self) -> list[ColumnElement[bool]]:
        if not self.before:
            return []
        parts = _CURSOR.fullmatch(self.before)
        if parts is None:
            raise BadSelection(
                "Invalid cursor.", hint="Send `next` of the previous page unchanged.", parameter="before"
            )
        try:
            moment = _EPOCH + timedelta(microseconds=int(parts[1]))
        except OverflowError as error:
            raise BadSelection("Invalid cursor.", parameter="before") from error
        key = tuple_(visit.c.drawn_at, visit.c.visit_id)
        return [visit.c.drawn_at <= moment, key < tuple_(literal(moment), literal(UUID(parts[2])))]


def read_visits(connection: Connection, ids: Select[Any]) -> Sequence[Row[Any]]:
    """The visits whose ids a query selects, the newest first, with the columns that `visit_row` needs."""
    quarantined = capture.c.quarantined.is_not(None)
    ingestion = case(
        (capture.c.visit_id.is_(None), null()),
        (capture.c.ingested > 0, "ingested"),
        (quarantined, "quarantined"),
        (capture.c.expired, "expired"),
        else_="waiting",
    )
    chosen = ids.subquery()
    return connection.execute(
        select(
            visit,
            machine.c.name.label("machine"),
            campaign.c.name.label("campaign"),
            visit_request.c.requested_by,
            capture.c.samples,
            capture.c.bytes,
            ingestion.label("ingestion"),
            func.coalesce(capture.c.quarantined, capture.c.failure, "").label("ingestion_detail"),
            capture.c.ingested_at,
        )
        .join(chosen, chosen.c.visit_id == visit.c.visit_id)
        .join(machine, machine.c.machine_id == visit.c.machine_id)
        .join(campaign, campaign.c.campaign_id == visit.c.campaign_id)
        .outerjoin(capture, capture.c.visit_id == visit.c.visit_id)
        .outerjoin(visit_request, visit_request.c.visit_id == visit.c.visit_id)
        .order_by(visit.c.drawn_at.desc(), visit.c.visit_id.desc())
    ).all()


def visit_row(row: Row[Any]) -> VisitRow:
    """The visit of a row of `read_visits`."""
    both = row.started_at is not None and row.ended_at is not None
    return VisitRow(
        visit_id=str(row.visit_id),
        machine=row.machine,
        campaign=row.campaign,
        requested_by=row.requested_by,
        planned_at=format_time(row.drawn_at),
        started_at=_time(row.started_at),
        ended_at=_time(row.ended_at),
        duration_s=max((row.ended_at - row.started_at).total_seconds(), 0.0) if both else None,
        outcome=row.outcome,
        detail=row.detail,
        sampled_s=row.seconds,
        utilisation=None if row.utilisation is None else min(row.utilisation, 1.0),
        samples=row.samples,
        bytes=row.bytes,
        ingestion=row.ingestion,
        ingestion_detail=row.ingestion_detail,
        ingested_at=_time(row.ingested_at),
    )


def _newest(conditions: Sequence[ColumnElement[bool]], most: int) -> Select[Any]:
    return (
        select(visit.c.visit_id, visit.c.drawn_at)
        .where(*conditions)
        .order_by(visit.c.drawn_at.desc(), visit.c.visit_id.desc())
        .limit(most)
    )


def _newest_of_each(conditions: Sequence[ColumnElement[bool]], most: int) -> Select[Any]:
    """As `_newest`, from the newest of each campaign: there is an index of times for each, and none by time alone."""
    of_one = _newest([visit.c.campaign_id == campaign.c.campaign_id, *conditions], most).lateral()
    return (
        select(of_one.c.visit_id, of_one.c.drawn_at)
        .select_from(campaign)
        .join(of_one, true())
        .order_by(of_one.c.drawn_at.desc(), of_one.c.visit_id.desc())
        .limit(most)
    )


def _cursor(row: Row[Any]) -> str:
    return f"{(row.drawn_at - _EPOCH) // timedelta(microseconds=1)}-{row.visit_id}"


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else format_time(moment)
