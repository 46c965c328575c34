"""What some visits saw of an event, from one snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from storage.data import profile_facts
from storage.data.profile_facts import FactReader, VisitFacts
from storage.data.stream_position import Order, Place
from storage.data.stream_query import Asked
from storage.data.stream_weights import DayWeights, VisitWeight
from storage.data.visit_rows import VisitRow
from storage.query.estimation.covered_time import facts_horizon
from storage.query.estimation.strata import NOT_KNOWN, class_of

MOST_FACTS = 100_000
"""Of a page, but for a single visit that has more: some ten megabytes while it is made into records."""

EXPIRED = "Facts of its day are kept no longer."
NEVER_INGESTED = "Its day went before it could be ingested."
_NOTHING = VisitFacts()


@dataclass(frozen=True, slots=True)
class Seen:
    """A visit that watched the event, whatever it saw."""

    place: Place
    visit: VisitRow
    watched_s: float
    """0: not known."""
    facts: VisitFacts
    weight: VisitWeight
    design: int
    """`DayWeights.number`; 0: there is none."""
    expired: str = ""
    """Why its facts are not there any more."""

    @property
    def says_something(self) -> bool:
        """It saw something that matches, or cannot say so any more."""
        return bool(self.facts.profiles or self.facts.damage or self.expired)


@dataclass(frozen=True, slots=True)
class Page:
    """Visits that are one behind the other in a stream."""

    seen: tuple[Seen, ...]
    place: Place
    """Behind all of them, and those that watched something else."""
    whole: bool
    """False: the visits that were asked for have too many facts for one page; go on behind `place`."""


def read_page(
    connection: Connection,
    reader: FactReader,
    asked: Asked,
    rows: Sequence[VisitRow],
    weights: DayWeights | None,
) -> Page:
    """What visits (at least one) that follow each other saw.

    One that is not among those weighed ingested behind the stream: it is left out, so that what is streamed of a
    day adds up to what its weights say.
    """
    ids, days = [row.id for row in rows], sorted({row.day for row in rows})
    matching = profile_facts.conditions(connection, asked)
    seconds = profile_facts.read_watched_seconds(connection, asked, ids)
    sizes = profile_facts.read_sizes(connection, ids, days, matching)
    taken = _fitting([sizes.get(id_, 0) for id_ in ids])
    mine = rows[:taken]
    wanted = [row.id for row in mine if row.id in sizes]
    found = reader.read(connection, asked, wanted, days, matching)
    kept = facts_horizon(connection)
    seen = []
    for row in mine:
        watched = seconds.get(row.id)
        gone = row.drawn_at < kept
        expired = NEVER_INGESTED if row.capture.expired else EXPIRED if gone else ""
        here = found.get(row.id, _NOTHING)
        if not row.capture.expired and watched is None and (gone or row.id not in sizes):
            continue  # it did not watch this event
        weight = _weight(asked, row, weights)
        if weight is None and not expired and watched is not None:
            continue  # it ingested behind the stream
        if weight is None or expired:
            weight = VisitWeight(0.0, _class(row), -1)
        seen.append(
            Seen(
                place=row.place(asked.order),
                visit=row,
                watched_s=watched or 0.0,
                facts=_NOTHING if expired else here,
                weight=weight,
                design=0 if weights is None else weights.number,
                expired=expired,
            )
        )
    return Page(tuple(seen), mine[-1].place(asked.order), taken == len(rows))


def _weight(asked: Asked, row: VisitRow, weights: DayWeights | None) -> VisitWeight | None:
    """None: it should have been weighed and was not."""
    if asked.order is not Order.DRAWN:
        return VisitWeight(0.0, _class(row), -1)
    if weights is None:
        return VisitWeight(1.0, _class(row), -1)
    if row.by_hand:
        return VisitWeight(0.0, _class(row), -1)
    return weights.of(row.id.bytes)


def _class(row: VisitRow) -> int:
    known = NOT_KNOWN if row.utilisation is None else row.utilisation
    return int(class_of(np.array([known]))[0])


def _fitting(sizes: Sequence[int]) -> int:
    """How many of them make a page; at least one."""
    together = np.cumsum(sizes)
    return max(1, int(np.searchsorted(together, MOST_FACTS, side="right")))
