"""The sampling design of a selection: the weight of each visit, and which visits share a variance stratum.

Every ingested visit that observed the event counts, also one without samples: idle machines are part of the fleet.
Source: docs/numbers.md; DIGEST G1, G2.
"""

from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, bindparam, func, select
from sqlalchemy.sql.elements import ColumnElement

from analysis.weights import Weights, weigh
from storage.arrays import Bool, Float, Int64
from storage.query.estimation.covered_time import HOURS, Span, facts_horizon, not_kept
from storage.query.estimation.strata import NOT_KNOWN, Strata, class_of, read_strata
from storage.query.selections.selection import Selection
from storage.schema import BY_HAND, capture_segment, visit
from storage.snapshots.copy_binary import Rows, read_fixed

# All selected columns are grouped by, though the id determines them: not every database infers that.
_OF_VISITS = (
    visit.c.visit_id,
    visit.c.stratum_id,
    visit.c.hour,
    visit.c.utilisation,
    capture_segment.c.stacks,
)
_WATCHED = (
    select(
        visit.c.visit_id,
        visit.c.stratum_id,
        visit.c.hour,
        func.coalesce(visit.c.utilisation, NOT_KNOWN).label("utilisation"),
        capture_segment.c.stacks,
        func.sum(capture_segment.c.seconds).label("seconds"),
    )
    .join(capture_segment, capture_segment.c.visit_id == visit.c.visit_id)
    .where(
        visit.c.campaign_id == bindparam("campaign"),
        visit.c.drawn_at >= bindparam("start"),
        visit.c.drawn_at < bindparam("end"),
        visit.c.round != BY_HAND,
        capture_segment.c.sample_type_id == bindparam("sample_type"),
        capture_segment.c.seconds > 0,
    )
    .group_by(*_OF_VISITS)
)

Ids = npt.NDArray[np.bytes_]
"""Visit ids of 16 bytes each."""
_MAX_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Watched:
    """Columns over the ingested visits of a selection's time that observed its event, by ascending id."""

    id: Ids
    stratum: Int64
    day: Int64
    utilisation_class: Int64
    """0: unknown; 1…4: its quarter."""
    seconds: Float

    def __len__(self) -> int:
        return len(self.id)

    def of(self, keep: Bool) -> "Watched":
        """The visits where `keep` is set."""
        return Watched(
            self.id[keep],
            self.stratum[keep],
            self.day[keep],
            self.utilisation_class[keep],
            self.seconds[keep],
        )


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the requested time the campaign covered."""

    random: bool
    """Whether visits were drawn at random, so that there are estimates; otherwise only observations of weight 1."""
    selected_s: float
    covered_s: float = 0.0
    """Seconds in which the campaign drew visits; 0 for one that never draws."""
    estimated_s: float = 0.0
    """Those seconds of days with ingested visits: estimates are sums over them, and means divide by them."""
    population: float = 0.0
    """Machines, as a mean over the covered seconds."""
    uncovered: float = 0.0
    """Share of the covered machine-time in days without ingested visits, 0…1."""
    drawn: int = 0
    ingested: int = 0
    """Visits that observed the event, including those of idle machines."""
    waiting: int = 0
    """Drawn visits that are unfinished: under way, or archived and not ingested yet."""
    approximate: bool = False
    """Whether only a random part of the visits was read, because there are too many for one query."""
    missing: tuple[Span, ...] = ()
    """Parts of the requested time whose data are dropped, ascending: they are not covered."""


@dataclass(frozen=True, slots=True)
class Design:
    """How the visits behind an answer were chosen, and their weights."""

    coverage: Coverage
    weights: Weights | None
    """None if visits were not drawn at random; then each has weight 1 and there is no variance."""
    days: Int64
    """Days since 1970 UTC with ingested visits, ascending; their seconds are `coverage.estimated_s`."""
    behind: "Behind | None" = None
    """None if cells were read, or if visits were not drawn at random."""


@dataclass(frozen=True, slots=True)
class Behind:
    """The inputs of visits' weights, for weighting them by shorter times than days."""

    strata: Strata
    watched: Watched
    gauge: bool


@dataclass(frozen=True, slots=True)
class VisitWeights:
    """Columns over ingested visits, by ascending id."""

    id: Ids
    weight: Float
    """Fleet units per observed unit; for a gauge, its mean level."""
    group: Int64
    """Group of `analysis.weights.Weights`; -1 if it has no weight."""
    stratum: Int64
    """Stratum of equal machines: the same for hours whose visits were thinned."""

    def of(self, visits: Ids) -> tuple[Float, Int64, Int64]:
        """Weight, group and stratum of these visits; 0, -1 and -1 for others."""
        nowhere = np.full(len(visits), -1, np.int64)
        if not len(self.id):
            return np.zeros(len(visits)), nowhere, nowhere
        place = np.minimum(np.searchsorted(self.id, visits), len(self.id) - 1)
        known = self.id[place] == visits
        return (
            np.where(known, self.weight[place], 0.0),
            np.where(known, self.group[place], -1),
            np.where(known, self.stratum[place], -1),
        )


def read_design(
    connection: Connection,
    selection: Selection,
    campaign_id: int | None,
    sample_type_id: int | None,
    *,
    stacks: bool | None,
    gauge: bool,
    only: ColumnElement[bool] | None = None,
) -> tuple[Design, VisitWeights | None]:
    """The design behind a selection's samples of one depth; `stacks` None: the depth that was observed.

    `only` selects a random part of the visits, which then represent all of them.
    """
    strata = None
    asked = (selection.end - selection.start).total_seconds()
    start = min(max(selection.start, facts_horizon(connection)), selection.end)
    if campaign_id is not None:
        strata = read_strata(connection, campaign_id, start, selection.end)
    if strata is None or campaign_id is None:
        return Design(Coverage(random=False, selected_s=asked), None, np.zeros(0, np.int64)), None
    # Facts are dropped before their visits, which would then look like idle machines.
    missing = not_kept(selection.start, selection.end, start)
    strata = replace(strata, selected_s=asked, missing=missing)
    watched = read_watched(
        connection, (start, selection.end), campaign_id, sample_type_id, stacks=stacks, only=only
    )
    return random_design(strata, watched, approximate=only is not None, gauge=gauge)


def random_design(
    strata: Strata, watched: Watched, *, approximate: bool, gauge: bool
) -> tuple[Design, VisitWeights]:
    """The design of visits drawn at random from these strata; `approximate`: `watched` is a random part of them."""
    weights, weight, group = weigh_visits(strata, watched)
    design = design_of(strata, weights, ingested=len(watched), approximate=approximate)
    if gauge:  # a level does not accumulate over the time it represents
        estimated_s = design.coverage.estimated_s
        weight *= watched.seconds / estimated_s if estimated_s > 0 else 0.0
    row = strata.row(watched.stratum, watched.day)
    inside = row >= 0
    alike = watched.stratum.copy()
    alike[inside] = strata.alike[row[inside]]
    design = replace(design, behind=Behind(strata, watched, gauge))
    return design, VisitWeights(watched.id, weight, group, alike)


def weigh_visits(strata: Strata, watched: Watched) -> tuple[Weights, Float, Int64]:
    """The weights of these strata; each visit's weight, 0 outside the strata; and its group, −1 outside."""
    row = strata.row(watched.stratum, watched.day)
    inside = row >= 0
    at, klass = row[inside], watched.utilisation_class[inside]
    weights = weigh(strata.frame(at, klass, np.ones(len(at)), watched.seconds[inside]))
    weight = np.zeros(len(watched))
    weight[inside] = weights.weight[at, klass]
    group = np.full(len(watched), -1, np.int64)
    group[inside] = weights.group[at, klass]
    return weights, weight, group


def design_of(strata: Strata, weights: Weights, *, ingested: int, approximate: bool = False) -> Design:
    """The random design of these strata, with weights."""
    days = np.unique(strata.day[(weights.group >= 0).any(axis=1)])
    coverage = Coverage(
        random=True,
        selected_s=strata.selected_s,
        covered_s=strata.total_covered_s,
        estimated_s=strata.seconds_of(days),
        population=strata.machines,
        uncovered=weights.uncovered,
        drawn=int(strata.drawn.sum()),
        ingested=ingested,
        waiting=strata.waiting,
        approximate=approximate,
        missing=strata.missing,
    )
    return Design(coverage, weights, days)


def read_watched(
    connection: Connection,
    time: tuple[datetime, datetime],
    campaign_id: int,
    sample_type_id: int | None,
    *,
    stacks: bool | None,
    only: ColumnElement[bool] | None = None,
) -> Watched:
    """The ingested visits of [start, end) and how long each observed the sample type."""
    rows = read_fixed(
        connection,
        _WATCHED if only is None else _WATCHED.where(only),
        {
            "campaign": campaign_id,
            "start": time[0],
            "end": time[1],
            "sample_type": -1 if sample_type_id is None else sample_type_id,
        },
        limit=_MAX_BYTES,
    )
    return watched_of(rows, stacks=stacks)


def watched_of(rows: Rows, *, stacks: bool | None) -> Watched:
    """The visits of rows with the columns of `_WATCHED`, of one depth; `stacks` as for `read_design`."""
    deep = np.array(rows.values("stacks"), np.bool_)
    keep: Bool = deep == (bool(deep.any()) if stacks is None else stacks)
    ids = rows.uuids("visit_id")[keep]
    order = np.argsort(ids)
    return Watched(
        id=ids[order],
        stratum=rows.ints("stratum_id")[keep][order],
        day=rows.ints("hour")[keep][order] // HOURS,
        utilisation_class=class_of(rows.floats("utilisation")[keep][order]),
        seconds=rows.floats("seconds")[keep][order],
    )
