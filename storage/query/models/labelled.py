"""The units of each visit by the values of a label, read from profiles alone if their stacks are not needed.

A profile has its labels and its sum. Its stacks are a hundred times as much data. They are needed only if the selection
filters them, and for the shares of stacks that are symbolized and complete. Merged cells have these shares for the
whole fleet or one application; otherwise a random part of the visits estimates them well enough.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from storage.arrays import Float, Int64, sum_at, weight_at
from storage.query.access_path import CellPlan, Shape
from storage.query.answers.totals import Totals
from storage.query.estimation.estimates import estimates
from storage.query.estimation.sampling_design import read_design
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_totals import PerVisit, of_pairs
from storage.query.facts.visit_scan import (
    MAX_CHUNKS,
    WHOLE,
    Profiles,
    SampleType,
    campaign_of,
    sample_type_of,
    scan_profiles,
)
from storage.query.selections.selection import Selection
from storage.query.shapes.table import all_rows
from storage.query.shapes.totals import sums, totals
from storage.query.store_reading import StoreReading
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import TooMuch

_FACTS = 1_000_000
"""Facts read to estimate the shares of symbolized stacks if cells do not have them."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """The values of a label with most of a selection's units, heaviest first."""

    kind: SampleType
    totals: Totals
    """Totals of the selection; the shares of symbolized and complete stacks may be from a random part of the visits."""
    visits: Visits
    names: tuple[str, ...]
    weighted: Float
    """Units of the fleet, by value."""
    whole: float
    """Units of the fleet of all values, the denominator of shares."""
    contributions: PerVisit
    """Units by visit and value, in the order of `names`."""
    count: int
    """Number of values."""


def read_labelled(reading: StoreReading, selection: Selection, label: str, most: int) -> Labelled:
    """At most `most` values. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
    kind = sample_type_of(reading.connection, selection)
    plan = reading.source.planner.plan(reading.connection, selection, kind, Shape(frame="function"))
    if plan.cells is not None:
        with suppress(TooMuch):  # a random part of the visits' stacks can be read
            return _of_profiles(reading, selection, kind, label, most, plan=plan.cells)
    return _of_samples(reading, selection, label, most)


def _of_profiles(
    reading: StoreReading, selection: Selection, kind: SampleType, label: str, most: int, *, plan: CellPlan
) -> Labelled:
    connection = reading.connection
    profiles = scan_profiles(connection, selection, kind, (label,))
    visits = profile_visits(reading, selection, kind, profiles)
    behind = _totals(reading, selection, kind, plan, profiles=profiles, visits=visits)
    ids, of = np.unique(profiles.label(label), return_inverse=True)
    values = reading.label_values(label, ids)
    names = sorted(set(values))
    # Labels beside the common ones are stored in sets, so several ids may have the same value.
    group = np.searchsorted(np.array(names), np.array(values))[of] if names else of
    found = of_pairs(group, profiles.visit, profiles.units, rows=len(names), visits=len(visits))
    units = sum_at(found.row, found.units, len(names))
    weighted = weight_at(found.row, found.units * visits.weight[found.visit], len(names))
    present = np.flatnonzero(units)
    order = present[np.argsort(-weighted[present], kind="stable")][:most]
    place = np.full(len(names), -1, np.int64)
    place[order] = np.arange(len(order))
    shown = place[found.row] >= 0
    contributions = PerVisit(place[found.row[shown]], found.visit[shown], found.units[shown], len(order))
    return Labelled(
        kind,
        behind,
        visits,
        tuple(names[number] for number in order.tolist()),
        weighted[order],
        visits.whole,
        contributions,
        len(present),
    )


def _totals(
    reading: StoreReading,
    selection: Selection,
    kind: SampleType,
    plan: CellPlan,
    *,
    profiles: Profiles,
    visits: Visits,
) -> Totals:
    """Totals of all profiles and visits, with the shares of stacks from cells or from a part of the visits."""
    samples = None
    with suppress(TooMuch), query_budget.given_back():
        samples = reading.source.read_merged(reading.connection, selection, kind, plan)
    if samples is None:
        samples = reading.source.read_part(
            reading.connection, selection, kind, (), parts_with(profiles, _FACTS)
        )
    seen = np.flatnonzero(visits.selected)
    moments = visits.moments(PerVisit(np.zeros(len(seen), np.int64), seen, visits.selected[seen], 1))
    (estimate,) = estimates(moments, 1)
    behind = sums(reading.functions, samples)
    if len(seen):
        behind = replace(behind, estimate=None if estimate is None else estimate.units)
    return replace(
        behind,
        samples=int(profiles.samples.sum()),
        units=int(profiles.units.sum()),
        machines=len(np.unique(visits.machine[seen])),
        visits=len(seen),
        profiles=int((profiles.samples > 0).sum()),
        coverage=visits.design.coverage,
    ).answer()


def parts_with(profiles: Profiles, most: int) -> int:
    """The number of the `WHOLE` parts of the visits with about `most` facts; more if these have none."""
    last_byte = profiles.visits.view(np.uint8).reshape(-1, 16)[:, 15]
    part = last_byte[profiles.visit]
    facts, chunks = (
        np.cumsum(sum_at(part, column, WHOLE)) for column in (profiles.facts, np.ones_like(profiles.facts))
    )
    fitting = int(((facts <= most) & (chunks <= MAX_CHUNKS)).sum())
    return min(max(fitting, int((facts == 0).sum()) + 1), WHOLE)


def profile_visits(
    reading: StoreReading, selection: Selection, kind: SampleType, profiles: Profiles
) -> Visits:
    """The visits of profiles that were read without their samples, of a selection that does not filter stacks."""
    connection = reading.connection
    design, weights = read_design(
        connection,
        selection,
        campaign_of(connection, selection),
        kind.id,
        stacks=profiles.stacks,
        gauge=kind.gauge,
    )
    count = len(profiles.visits)
    machine = np.zeros(count, np.int64)
    machine[profiles.visit] = profiles.machine
    nowhere = np.full(count, -1, np.int64)
    weight, group, stratum = (
        (np.ones(count), nowhere, nowhere) if weights is None else weights.of(profiles.visits)
    )
    selected: Int64 = sum_at(profiles.visit, profiles.units, count)
    return Visits(design, profiles.visit, profiles.visits, stratum, machine, weight, group, selected)


def _of_samples(reading: StoreReading, selection: Selection, label: str, most: int) -> Labelled:
    samples = reading.visits(selection, (label,))
    visits = samples.evidence
    if not isinstance(visits, Visits):
        raise TypeError("the samples of each visit need a read by visit")
    rows = all_rows(reading, samples, (label,))
    order = np.argsort(-rows.own_weight, kind="stable")[:most]
    return Labelled(
        samples.kind,
        totals(reading.functions, samples),
        visits,
        tuple(rows.key(place)[label] for place in order.tolist()),
        rows.own_weight[order],
        samples.whole,
        rows.contributions(order).own,
        len(rows.own),
    )
