"""Delta visits: visits that a query by cells needs besides the cells, read from their chunks.

They are those drawn in the partial hours before and after the cells, those of hours without cells, and those that wait
to be merged. Replaced generations that the cells still hold are read too, to be subtracted, and so are visits of the
cells' hours that are outside of the selection (`edges`). In one snapshot, cells and delta visits are exactly what is
ingested.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Select, and_, bindparam, func, or_, select
from sqlalchemy.sql.elements import ColumnElement

from storage.arrays import Bool, Float, Int64
from storage.query.access_path import MOST_VISITS, CellPlan
from storage.query.cells.edges import outside_of
from storage.query.estimation.covered_time import HOUR_S, HOURS
from storage.query.estimation.strata import NOT_KNOWN, class_of
from storage.query.facts.decode_chunks import decode_chunks
from storage.query.facts.visit_scan import MAX_BYTES, MAX_FACTS
from storage.query.selections.selection import Selection
from storage.rollup.cubes import day_of
from storage.rollup.time_cover import Cover
from storage.schema import BY_HAND, capture_segment, chunk, profile, rollup_queue, rollup_retraction, visit
from storage.snapshots.copy_binary import Rows, among, among_uuids, read_fixed, read_rows

_ID = "visit_id"
_OF_CHUNKS = 0
"""In place of an entry's id, which are above it."""
_OF_VISIT = (
    visit.c.visit_id,
    visit.c.stratum_id,
    visit.c.hour,
    visit.c.machine_id,
    func.coalesce(visit.c.utilisation, NOT_KNOWN).label("utilisation"),
)
_DRAWN = (
    select(*_OF_VISIT)
    .where(
        visit.c.campaign_id == bindparam("campaign"),
        visit.c.drawn_at >= bindparam("low"),
        visit.c.drawn_at < bindparam("high"),
        visit.c.round != BY_HAND,
    )
    .limit(MOST_VISITS + 1)
)


@lru_cache(maxsize=16)
def _queued(ranges: int) -> Select[Any]:
    """Visits of a campaign that wait to be merged, of some days and of `ranges` ranges of hours."""
    hour = visit.c.hour
    inside = (and_(hour >= bindparam(f"first{n}"), hour < bindparam(f"end{n}")) for n in range(ranges))
    return (
        select(*_OF_VISIT, rollup_queue.c.sign, rollup_queue.c.entry_id)
        .join(visit, visit.c.visit_id == rollup_queue.c.visit_id)
        .where(
            visit.c.campaign_id == bindparam("campaign"),
            rollup_queue.c.day >= bindparam("first_day"),
            rollup_queue.c.day <= bindparam("last_day"),
            or_(*inside),
        )
        .limit(MOST_VISITS + 1)
    )


@dataclass(frozen=True, slots=True)
class DeltaVisits:
    """Columns over visits. A visit that was reprocessed while the cells hold it occurs twice."""

    id: npt.NDArray[np.bytes_]
    sign: Int64
    """+1: added to the cells; -1: subtracted from them."""
    stratum: Int64
    hour: Int64
    """Hours since 1970 UTC."""
    utilisation_class: Int64
    """0: unknown; 1…4: its quarter."""
    machine: Int64
    entry: Int64
    """Id in `rollup_retraction` of replaced generations; `_OF_CHUNKS`: the facts are those of the chunks."""

    def __len__(self) -> int:
        return len(self.id)

    @property
    def day(self) -> Int64:
        """Days since 1970 UTC."""
        return self.hour // HOURS


@dataclass(frozen=True, slots=True)
class DeltaFacts:
    """Columns over the visits' profiles, and over the facts of those."""

    visit: Int64
    """Index into `DeltaVisits`, of each profile."""
    application: Int64
    stacks: Bool
    samples: Int64
    period: Int64
    facts: Int64
    stack: Int64
    """Stack of each fact, profile by profile, as are `values`."""
    values: Int64

    @property
    def profile(self) -> Int64:
        """The profile of each fact."""
        return np.repeat(np.arange(len(self.facts)), self.facts)

    @property
    def units(self) -> Int64:
        """Units of each fact, ≥ 0 whatever its visit's sign."""
        return self.values * np.repeat(self.period, self.facts)

    def of_depth(self, *, stacks: bool) -> "DeltaFacts":
        """The profiles with stacks, or those without."""
        keep = self.stacks == stacks
        facts = np.repeat(keep, self.facts)
        return DeltaFacts(
            self.visit[keep],
            self.application[keep],
            self.stacks[keep],
            self.samples[keep],
            self.period[keep],
            self.facts[keep],
            self.stack[facts],
            self.values[facts],
        )


def merged_hours(plan: CellPlan, cover: Cover) -> list[tuple[int, int]]:
    """The ranges of hours [first, end) that are read from cells."""
    hours = [(plan.first, plan.end)]
    for low, high in cover.rest:
        hours = [
            part for a, b in hours for part in ((a, min(b, low)), (max(a, high), b)) if part[0] < part[1]
        ]
    return hours


def read_visits(
    connection: Connection, selection: Selection, campaign_id: int, plan: CellPlan, cover: Cover
) -> DeltaVisits | None:
    """The visits to be added to or subtracted from the cells of this cover; None if there are too many."""
    hours = merged_hours(plan, cover)
    tables: list[tuple[Rows, Int64, Int64]] = []
    ranges = [(1, times) for times in _beside(selection, plan, cover)]
    ranges += [(-1, times) for times in outside_of(selection, plan)]
    for sign, (low, high) in ranges:
        rows = read_fixed(
            connection, _DRAWN, {"campaign": campaign_id, "low": low, "high": high}, limit=MAX_BYTES
        )
        tables.append((rows, np.full(len(rows), sign, np.int64), np.full(len(rows), _OF_CHUNKS, np.int64)))
    if hours:
        parameters: dict[str, Any] = {
            "campaign": campaign_id,
            "first_day": day_of(plan.first // HOURS),
            "last_day": day_of((plan.end - 1) // HOURS),
        }
        for n, (first, end) in enumerate(hours):
            parameters |= {f"first{n}": first, f"end{n}": end}
        queued = read_fixed(connection, _queued(len(hours)), parameters, limit=MAX_BYTES)
        sign_of = queued.ints("sign")
        tables.append((queued, sign_of, np.where(sign_of > 0, _OF_CHUNKS, queued.ints("entry_id"))))
    if sum(len(rows) for rows, _, _ in tables) > MOST_VISITS:
        return None

    def column(name: str) -> Int64:
        return np.concatenate([np.zeros(0, np.int64), *(rows.ints(name) for rows, _, _ in tables)])

    busy = np.concatenate([np.zeros(0), *(rows.floats("utilisation") for rows, _, _ in tables)])
    return DeltaVisits(
        id=np.concatenate([np.zeros(0, "S16"), *(rows.uuids(_ID) for rows, _, _ in tables)]),
        sign=np.concatenate([np.zeros(0, np.int64), *(sign for _, sign, _ in tables)]),
        stratum=column("stratum_id"),
        hour=column("hour"),
        utilisation_class=class_of(busy),
        machine=column("machine_id"),
        entry=np.concatenate([np.zeros(0, np.int64), *(entry for _, _, entry in tables)]),
    )


def read_seconds(connection: Connection, visits: DeltaVisits, sample_type_id: int, *, stacks: bool) -> Float:
    """Seconds for which each visit observed a sample type; 0 if it is not ingested, or did not observe it."""
    seconds = np.zeros(len(visits))
    if not len(visits):
        return seconds
    c = capture_segment.c
    rows = read_fixed(
        connection,
        select(c.visit_id, func.sum(c.seconds).label("seconds"))
        .where(
            among_uuids(c.visit_id, np.unique(visits.id).tolist()),
            c.sample_type_id == sample_type_id,
            c.stacks == stacks,
            c.seconds > 0,
        )
        .group_by(c.visit_id),
        limit=MAX_BYTES,
    )
    ids = rows.uuids(_ID)
    order = np.argsort(ids)
    if len(ids):
        place = np.minimum(np.searchsorted(ids[order], visits.id), len(ids) - 1)
        known = ids[order][place] == visits.id
        seconds[known] = rows.floats("seconds")[order][place[known]]
    return seconds


def read_facts(
    connection: Connection, visits: DeltaVisits, sample_type_id: int, applications: tuple[int, ...] | None
) -> DeltaFacts | None:
    """The facts of the visits, of some applications; None if there are too many."""
    parts: list[tuple[Rows, Int64]] = []
    p = profile.c
    of_chunks = visits.entry == _OF_CHUNKS
    # A visit that waits and is outside of the selection has both signs.
    for chosen in (np.flatnonzero(of_chunks & (visits.sign == sign)) for sign in (1, -1)):
        if not len(chosen):
            continue
        order = chosen[np.argsort(visits.id[chosen])]
        rows = read_rows(
            connection,
            select(*(p[name] for name in (_ID, *_COLUMNS)), chunk.c.data)
            .join(chunk, and_(chunk.c.day == p.day, chunk.c.profile_id == p.profile_id))
            .where(
                p.day.in_([day_of(day) for day in np.unique(visits.day[chosen]).tolist()]),
                among_uuids(p.visit_id, visits.id[chosen].tolist()),
                p.sample_type_id == sample_type_id,
                *_of(p.application, applications),
            ),
            limit=MAX_BYTES,
        )
        parts.append((rows, order[np.searchsorted(visits.id[order], rows.uuids(_ID))]))
    taken_out = np.flatnonzero(~of_chunks)
    if len(taken_out):
        order = taken_out[np.argsort(visits.entry[taken_out])]
        r = rollup_retraction.c
        rows = read_rows(
            connection,
            select(*(r[name] for name in ("entry_id", *_COLUMNS)), r.data).where(
                r.entry_id.in_(visits.entry[taken_out].tolist()),
                r.sample_type_id == sample_type_id,
                *_of(r.application, applications),
            ),
            limit=MAX_BYTES,
        )
        parts.append((rows, order[np.searchsorted(visits.entry[order], rows.ints("entry_id"))]))

    def column(name: str) -> Int64:
        return np.concatenate([np.zeros(0, np.int64), *(rows.ints(name) for rows, _ in parts)])

    facts = column("facts")
    if int(facts.sum()) > MAX_FACTS:
        return None
    stack, values = decode_chunks([rows.blobs for rows, _ in parts], facts)
    return DeltaFacts(
        visit=np.concatenate([np.zeros(0, np.int64), *(of for _, of in parts)]),
        application=column("application"),
        stacks=column("stacks").astype(np.bool_),
        samples=column("samples"),
        period=column("period"),
        facts=facts,
        stack=stack,
        values=values,
    )


_COLUMNS = ("application", "stacks", "facts", "samples", "period")


def _of(column: Any, applications: tuple[int, ...] | None) -> tuple[ColumnElement[bool], ...]:
    return () if applications is None else (among(column, applications),)


def _beside(selection: Selection, plan: CellPlan, cover: Cover) -> list[tuple[datetime, datetime]]:
    """Times of the selection that are not covered by cells."""
    hours = [(plan.first, plan.end), *cover.rest]
    first, end = (datetime.fromtimestamp(hour * HOUR_S, UTC) for hour in hours[0])
    edges = [(selection.start, first), (end, selection.end)]
    rest = [tuple(datetime.fromtimestamp(hour * HOUR_S, UTC) for hour in part) for part in cover.rest]
    return [(low, high) for low, high in (*edges, *rest) if low < high]
