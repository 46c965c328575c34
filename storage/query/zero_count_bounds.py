"""The upper bound for a selection with zero observed samples: a share of the rest that its visits observed.

A selection's labels choose a part of an event. Visits without samples of that part bound it as they bound an unobserved
function: of n equal visits, at most 1 − 0.025^(1/n) of their total. This holds only for what any visit could have
observed. For labels of a machine, such as its datacenter, visits to other machines carry no information, and no bound
is given. The bound needs the sums of the whole event by visit: from cells, which have them ready, else from profiles.
Stacks and facts are not read. Source: docs/numbers.md, "Zero".
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import numpy as np
from sqlalchemy import Connection

from analysis import estimate
from analysis.moments import Moments
from storage.arrays import sum_at
from storage.errors import BudgetExceeded
from storage.query.access_path import Planner, Shape
from storage.query.cells.cell_evidence import Merged
from storage.query.cells.rollup_scan import NotInRollup, scan_rollup
from storage.query.estimation.sampling_design import Design, VisitWeights, read_design
from storage.query.estimation.visit_evidence import Visits
from storage.query.facts.visit_scan import Profiles, SampleType, campaign_of, scan_profiles
from storage.query.selections.selection import Selection
from storage.schema import OF_THE_MACHINE
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import TooMuch
from storage.snapshots.decoded_cache import DecodedCache

_OF_THE_MACHINE = {*OF_THE_MACHINE, "machine"}
_Evidence = TypeVar("_Evidence", bound=Visits | Merged)
_Found = TypeVar("_Found")


def zero_count_bound(
    evidence: _Evidence,
    connection: Connection,
    selection: Selection,
    kind: SampleType,
    *,
    cache: DecodedCache,
    planner: Planner,
) -> _Evidence:
    """The evidence of a selection, with its upper bound if the visits observed nothing that its labels choose.

    `cache` is that of `scan_rollup`.
    """
    if evidence.design.weights is None or evidence.whole > 0 or not could_be_seen(selection):
        return evidence
    return replace(evidence, unseen=_most(connection, selection, kind, cache, planner))


def zero_count_bound_by_visits(
    visits: Visits, selection: Selection, read: Callable[[Selection], Visits | None]
) -> Visits:
    """As `zero_count_bound`, if only the visits of an event are available; `read` reads these."""
    if visits.design.weights is None or visits.whole > 0 or not could_be_seen(selection):
        return visits
    event = unless_too_much(lambda: read(event_of(selection)))
    return replace(visits, unseen=most(None if event is None else event.nothing()))


def could_be_seen(selection: Selection) -> bool:
    """Whether its labels choose a part of the event that any visit could have observed."""
    return bool(selection.matchers) and not any(
        matcher.label in _OF_THE_MACHINE for matcher in selection.matchers
    )


def event_of(selection: Selection) -> Selection:
    """The whole event of the selection in its time and campaign."""
    return Selection(
        selection.start, selection.end, selection.event, selection.unit, campaign=selection.campaign
    )


def unless_too_much(read: Callable[[], _Found | None]) -> _Found | None:
    """The result of `read`; None if it exceeds the limits of a query, which may then go on without it."""
    try:
        with query_budget.given_back():
            return read()
    except TooMuch:
        return None
    except BudgetExceeded as error:
        if error.limit != "memory":
            raise
        return None


def _most(
    connection: Connection, selection: Selection, kind: SampleType, cache: DecodedCache, planner: Planner
) -> float:
    """Units of the fleet, or a gauge's level; NaN if the visits observed nothing, or too much to read for one query."""
    event = event_of(selection)

    def read() -> Moments | None:
        moments = _of_cells(connection, event, kind, cache, planner)
        if moments is None:
            visits = read_event(connection, event, kind)
            moments = None if visits is None else visits.nothing()
        return moments

    return most(unless_too_much(read))


def most(nothing: Moments | None) -> float:
    """The largest units of a row, given the moments of a row without samples; NaN for None."""
    return math.nan if nothing is None else float(estimate.totals(nothing).hi[0])


def _of_cells(
    connection: Connection, event: Selection, kind: SampleType, cache: DecodedCache, planner: Planner
) -> Moments | None:
    """The moments of a row without samples; None if cells cannot answer."""
    plan = planner.plan(connection, event, kind, Shape(frame="function", stacks=False))
    campaign_id = campaign_of(connection, event)
    if plan.cells is None or campaign_id is None:
        return None
    with suppress(NotInRollup):
        scanned = scan_rollup(connection, event, kind, campaign_id, plan.cells, cache)
        return None if scanned is None else scanned.evidence(np.zeros(0, np.int64)).nothing()
    return None


def read_event(connection: Connection, event: Selection, kind: SampleType) -> Visits | None:
    """All visits with their amounts of an event, without profiles; None if they are not a random sample."""
    profiles = scan_profiles(connection, event, kind, ())
    campaign_id = campaign_of(connection, event)
    design, weights = read_design(
        connection, event, campaign_id, kind.id, stacks=profiles.stacks, gauge=kind.gauge
    )
    return None if weights is None else visits_of_event(profiles, design, weights)


def visits_of_event(profiles: Profiles, design: Design, weights: VisitWeights) -> Visits:
    """The visits of an event's profiles with their amounts of it."""
    weight, group, stratum = weights.of(profiles.visits)
    visits = len(profiles.visits)
    return Visits(
        design=design,
        of_profile=profiles.visit[:0],
        id=profiles.visits,
        stratum=stratum,
        machine=np.zeros(visits, np.int64),
        weight=weight,
        group=group,
        selected=sum_at(profiles.visit, profiles.units, visits),
    )
