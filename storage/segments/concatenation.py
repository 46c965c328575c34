"""Concatenates the data of two consecutive time ranges: the earlier from segments, the later from PostgreSQL.

Both belong to one database, so their ids mean the same. They meet at midnight, so no hour and no visit is in both.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta

import numpy as np

from storage.query.estimation.covered_time import CoveredTime, Span
from storage.query.estimation.sampling_design import Watched
from storage.query.estimation.strata import Drawn, Strata
from storage.query.estimation.visit_times import DrawnVisits, VisitTimes
from storage.query.facts.visit_scan import Facts, Profiles


def profiles(parts: Sequence[tuple[Profiles, Facts]]) -> tuple[Profiles, Facts]:
    """The profiles with stacks, or all if none has stacks, and their facts.

    Follows `storage.query.facts.visit_scan.one_depth`.
    """
    deep = any(part.stacks for part, _ in parts)
    kept = [(part, facts) for part, facts in parts if part.stacks is deep] or list(parts[:1])
    ids = np.concatenate([part.visits for part, _ in kept])
    visits = np.unique(ids)
    firsts = np.cumsum([0, *(len(part) for part, _ in kept)]).tolist()
    one = Profiles(
        visits=visits,
        visit=np.concatenate([np.searchsorted(visits, part.visits)[part.visit] for part, _ in kept]),
        machine=np.concatenate([part.machine for part, _ in kept]),
        facts=np.concatenate([part.facts for part, _ in kept]),
        samples=np.concatenate([part.samples for part, _ in kept]),
        period=np.concatenate([part.period for part, _ in kept]),
        labels={name: np.concatenate([part.labels[name] for part, _ in kept]) for name in kept[0][0].labels},
        stacks=kept[0][0].stacks,
    )
    return one, Facts(
        np.concatenate([facts.profile + first for (_, facts), first in zip(kept, firsts, strict=False)]),
        np.concatenate([facts.stack for _, facts in kept]),
        np.concatenate([facts.samples for _, facts in kept]),
        np.concatenate([facts.units for _, facts in kept]),
    )


def strata(earlier: Strata | None, later: Strata | None) -> Strata | None:
    """The strata of both ranges; None: the campaign has never drawn a visit at random."""
    if earlier is None or later is None:
        return earlier or later
    total = earlier.total_covered_s + later.total_covered_s
    machine_s = sum(each.machines * each.total_covered_s for each in (earlier, later))
    return Strata(
        stratum=np.concatenate((earlier.stratum, later.stratum)),
        day=np.concatenate((earlier.day, later.day)),
        population=np.concatenate((earlier.population, later.population)),
        covered_s=np.concatenate((earlier.covered_s, later.covered_s)),
        drawn=np.concatenate((earlier.drawn, later.drawn)),
        selected_s=earlier.selected_s + later.selected_s,
        total_covered_s=total,
        machines=machine_s / total if total > 0 else 0.0,
        alike=np.concatenate((earlier.alike, later.alike)),
        in_hours=Drawn(
            *(
                np.concatenate((getattr(earlier.in_hours, name), getattr(later.in_hours, name)))
                for name in Drawn.__slots__
            )
        ),
        waiting=earlier.waiting + later.waiting,
    )


def watched(earlier: Watched, later: Watched) -> Watched:
    """The visits of both ranges, by ascending id."""
    ids = np.concatenate((earlier.id, later.id))
    order = np.argsort(ids)
    return Watched(
        ids[order],
        np.concatenate((earlier.stratum, later.stratum))[order],
        np.concatenate((earlier.day, later.day))[order],
        np.concatenate((earlier.utilisation_class, later.utilisation_class))[order],
        np.concatenate((earlier.seconds, later.seconds))[order],
    )


def visit_times(earlier: VisitTimes, later: VisitTimes) -> VisitTimes:
    """The visits of both ranges, by ascending id, and the covered time."""
    ids = np.concatenate((earlier.id, later.id))
    order = np.argsort(ids)
    return VisitTimes(
        ids[order],
        np.concatenate((earlier.drawn_at, later.drawn_at))[order],
        np.concatenate((earlier.at_random, later.at_random))[order],
        np.concatenate((earlier.waits, later.waits))[order],
        _covered(earlier.covered, later.covered),
    )


def drawn(earlier: DrawnVisits, later: DrawnVisits) -> DrawnVisits:
    """The visits of both ranges."""
    return DrawnVisits(
        np.concatenate((earlier.id, later.id)),
        np.concatenate((earlier.drawn_at, later.drawn_at)),
        np.concatenate((earlier.stratum, later.stratum)),
        np.concatenate((earlier.day, later.day)),
        np.concatenate((earlier.utilisation_class, later.utilisation_class)),
    )


def _covered(earlier: CoveredTime | None, later: CoveredTime | None) -> CoveredTime | None:
    if earlier is None or later is None:
        return earlier or later
    return CoveredTime(
        np.concatenate((earlier.hour, later.hour)),
        np.concatenate((earlier.low, later.low)),
        np.concatenate((earlier.high, later.high)),
        later.until,
    )


def spans(days: Iterable[date], start: datetime, end: datetime) -> tuple[Span, ...]:
    """The parts of [start, end) in these ascending UTC days; consecutive days are merged."""
    found: list[Span] = []
    for day in days:
        begins = datetime.combine(day, time(), UTC)
        low, high = max(begins, start), min(begins + timedelta(days=1), end)
        if found and found[-1][1] == low:
            found[-1] = (found[-1][0], high)
        elif low < high:
            found.append((low, high))
    return tuple(found)
