"""Streams a selection's visits: one short snapshot per page, and no resource held between pages.

A page lies within one UTC day, so that one design weights all its visits. Each item carries the position behind it;
a stream resumed at any of them yields the remaining items, each once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from sqlalchemy import func, select

from storage.data.cancellation import Stop
from storage.data.profile_facts import FactReader
from storage.data.progress import Horizon, horizon, settled
from storage.data.snapshots import Source
from storage.data.stream_position import Order, Place, day_of, end_of, midnight
from storage.data.stream_query import StreamSelection
from storage.data.stream_weights import DayWeights, read_day
from storage.data.visit_page import Seen, read_page
from storage.data.visit_rows import read_visits
from storage.query.estimation.covered_time import HOUR_S
from storage.query.stacks.function_names import Functions
from storage.schema import capture, coverage, visit

PAGE_VISITS = 256
MOST_FUNCTIONS = 300_000
"""Functions cached between pages: about 100 MB."""
POLL_S = 1.0
"""Time between two polls for newly ingested visits."""


@dataclass(frozen=True, slots=True)
class DayOver:
    """The stream has passed all visits of a day with a random design."""

    place: Place
    weights: DayWeights


@dataclass(frozen=True, slots=True)
class Looking:
    """No visit of a page matched or, while following, no new visit was ingested."""

    place: Place


Item = Seen | DayOver | Looking


class Walker:
    """Iterates visits for all streams of a process. Safe to share between threads."""

    def __init__(self, source: Source, *, poll_s: float = POLL_S) -> None:
        """`poll_s`: time between two polls for newly ingested visits."""
        self._source = source
        self._poll_s = poll_s
        self._functions = Functions()

    def walk(self, asked: StreamSelection, after: Place, stop: Stop) -> Iterator[Item]:
        """The visits behind a position in draw order, and the end of each day; then it ends."""
        if asked.campaign_id is None or asked.kind.id is None:
            return
        reader = FactReader(self._names())
        place = after
        while (day := self._next_day(asked, place, stop)) is not None:
            yield from self._day(asked, day, max(place, Place(midnight(day))), reader, stop)
            place = end_of(day)

    def _day(
        self, asked: StreamSelection, day: date, place: Place, reader: FactReader, stop: Stop
    ) -> Iterator[Item]:
        ingested = (*asked.drawn, visit.c.drawn_at < end_of(day).moment, capture.c.ingested > 0)
        weights: DayWeights | None = None
        first, last = True, False
        while not last:
            with self._source.reading(stop) as connection:
                if first:
                    weights, first = read_day(connection, asked, day), False
                rows = read_visits(connection, ingested, Order.DRAWN, place, limit=PAGE_VISITS)
                if not rows:
                    break
                page = read_page(connection, reader, asked, rows, weights)
                last = page.whole and len(rows) < PAGE_VISITS
                place = page.place
            yield from page.seen
            if not page.seen:
                yield Looking(place)
        if weights is not None:
            yield DayOver(end_of(day), weights)

    def follow(self, asked: StreamSelection, after: Place, stop: Stop) -> Iterator[Item]:
        """The visits that are ingested behind a position, in ingestion order, without an end.

        A reprocessed visit is yielded again. Yields `Looking` whenever there is nothing new.
        """
        reader = FactReader(self._names())
        place = after
        until: Horizon | None = None
        while True:
            # In a transaction before the one that reads rows, whose snapshot must include the writers' commits.
            with self._source.reading(stop) as connection:
                until = until or horizon(connection)
                ready = settled(connection, until)
            if ready:
                ingested = (*asked.drawn, capture.c.ingested > 0, capture.c.ingested_at < until.moment)
                with self._source.reading(stop) as connection:
                    rows = read_visits(connection, ingested, Order.INGESTED, place, limit=PAGE_VISITS)
                    page = read_page(connection, reader, asked, rows, None) if rows else None
                if page is not None:
                    place = page.place
                    yield from page.seen
                    continue
                place, until = max(place, Place(until.moment)), None
            yield Looking(place)
            stop.wait(self._poll_s)
            stop.check()

    def _names(self) -> Functions:
        if self._functions.size.rows > MOST_FUNCTIONS:
            self._functions = Functions()
        return self._functions

    def _next_day(self, asked: StreamSelection, after: Place, stop: Stop) -> date | None:
        """The first day from a position on with a visit or a draw."""
        end = asked.selection.end
        if after.moment >= end:
            return None
        day = day_of(after.moment)
        mine = (visit.c.campaign_id == asked.campaign_id, visit.c.day >= day, visit.c.drawn_at < end)
        hours = (
            coverage.c.campaign_id == asked.campaign_id,
            coverage.c.hour >= midnight(day).timestamp() // HOUR_S,
            coverage.c.hour < end.timestamp() / HOUR_S,
            coverage.c.drawn > 0,
        )
        with self._source.reading(stop) as connection:
            found: list[date | None] = [
                connection.scalar(select(func.min(visit.c.day)).where(*mine)),
                connection.scalar(select(func.min(coverage.c.day)).where(*hours)),
            ]
        return min((each for each in found if each is not None), default=None)
