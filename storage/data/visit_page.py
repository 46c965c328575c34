"""A page of visits with their facts of one event, from one snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from storage.data import profile_facts
from storage.data.profile_facts import FactReader, VisitFacts
from storage.data.stream_position import Order, Place
from storage.data.stream_query import StreamSelection
from storage.data.stream_weights import DayWeights, VisitWeight
from storage.data.visit_rows import VisitRow
from storage.query.estimation.covered_time import facts_horizon
from storage.query.estimation.strata import NOT_KNOWN, class_of

MOST_FACTS = 100_000
"""Facts per page, unless a single visit has more: some ten megabytes while records are built."""

EXPIRED = "The retention time of its day's facts is over."
NEVER_INGESTED = "Its day was deleted before it was ingested."
_NOTHING = VisitFacts()


@dataclass(frozen=True, slots=True)
class Seen:
    """A visit that sampled the event, with or without matching samples."""

    place: Place
    visit: VisitRow
    watched_s: float
    """0: unknown."""
    facts: VisitFacts
    weight: VisitWeight
    design: int
    """`DayWeights.number`; 0: none."""
    expired: str = ""
    """Why its facts are unavailable; '' if they are not."""

    @property
    def is_informative(self) -> bool:
        """Whether it has matching facts, damage, or expired facts."""
        return bool(self.facts.profiles or self.facts.damage or self.expired)


@dataclass(frozen=True, slots=True)
class Page:
    """Consecutive visits of a stream."""

    seen: tuple[Seen, ...]
    place: Place
    """Behind all requested visits of the page, including those that sampled other events."""
    whole: bool
    """False: the requested visits have too many facts for one page; continue behind `place`."""


def read_page(
    connection: Connection,
    reader: FactReader,
    asked: StreamSelection,
    rows: Sequence[VisitRow],
    weights: DayWeights | None,
) -> Page:
    """Read the facts of consecutive visits (at least one).

    A visit without a weight was ingested after the stream passed it. It is left out, so that the records of a day add
    up to the totals of its weights.
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
            continue  # it did not sample this event
        weight = _weight(asked, row, weights)
        if weight is None and not expired and watched is not None:
            continue  # it was ingested behind the stream
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


def _weight(asked: StreamSelection, row: VisitRow, weights: DayWeights | None) -> VisitWeight | None:
    """The weight of a visit; None: it should have one and has none."""
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
    """Number of visits that fit into a page; at least one."""
    together = np.cumsum(sizes)
    return max(1, int(np.searchsorted(together, MOST_FACTS, side="right")))
