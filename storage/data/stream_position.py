"""The position in a stream: moment and visit of the last record, in the stream's order."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from uuid import UUID

from sqlalchemy import Column, Uuid, cast, literal, tuple_
from sqlalchemy.sql.elements import ColumnElement

from storage.schema import capture, visit

_NOBODY = UUID(int=0)
"""Sorts before every visit of the same moment."""


class Order(Enum):
    """The sort key of a stream; ties are sorted by visit id."""

    DRAWN = "drawn"
    INGESTED = "ingested"
    ARCHIVED = "archived"

    @property
    def moment(self) -> Column[datetime]:
        """The column with the moment."""
        if self is Order.DRAWN:
            return visit.c.drawn_at
        return capture.c.ingested_at if self is Order.INGESTED else capture.c.archived_at


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The position behind all records up to this moment and visit."""

    moment: datetime
    visit_id: UUID = _NOBODY

    def before(self, order: Order) -> ColumnElement[bool]:
        """The condition for rows behind this position."""
        key = tuple_(order.moment, visit.c.visit_id)
        return key > tuple_(literal(self.moment, order.moment.type), cast(str(self.visit_id), Uuid))


def day_of(moment: datetime) -> date:
    """The UTC day of a moment."""
    return moment.astimezone(UTC).date()


def midnight(day: date) -> datetime:
    """The beginning of a UTC day."""
    return datetime.combine(day, time(), UTC)


def end_of(day: date) -> Place:
    """The position behind a whole day."""
    return Place(midnight(day + timedelta(days=1)))
