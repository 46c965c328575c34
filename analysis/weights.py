"""Weights: the units of the fleet that one observed unit represents.

In a stratum h with N machines, in which the campaign sampled during the T covered seconds of a day, the ingested visits
watched Σs seconds. A unit observed there represents

    w = N · T / Σs

units: existing machine-seconds per watched machine-second. Machines that fail to answer are busier than others, so the
same is done within classes of utilisation: a class gets the share of N · T that its *drawn* visits have, failures
included, divided by the seconds that its ingested visits watched. Always Σ w·s = N · T, so totals are preserved.
Source: docs/numbers.md; Särndal, Swensson, Wretman, Model Assisted Survey Sampling, §15.6 (response homogeneity
groups).
"""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Bool, Float, Int, sums
from analysis.errors import BadShape

CLASSES = 5
"""Columns of a frame: 0 for visits with unknown utilisation, 1…4 for its quarters."""
ENOUGH = 2
"""Minimum ingested visits of a separate stratum-day: with one there is no variance."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The target and the actual coverage: k rows, one per stratum and UTC day."""

    stratum: Int
    day: Int
    population: Float
    """Machines, averaged over the covered hours; shape (k,)."""
    covered_s: Float
    """Seconds of the selection in which the campaign drew visits, the same for all strata of a day; (k,)."""
    drawn: Float
    """Visits drawn, whatever their outcome; (k, CLASSES)."""
    visits: Float
    """Visits ingested, including those without samples; (k, CLASSES)."""
    watched_s: Float
    """Seconds for which the ingested visits sampled the event; (k, CLASSES)."""
    alike: Int | None = None
    """Equal numbers for strata of the same machines with hours of different density; None: there are none."""

    def __post_init__(self) -> None:
        k = len(self.stratum)
        if any(len(column) != k for column in (self.day, self.population, self.covered_s)):
            raise BadShape("A frame's columns need one entry per stratum and day.")
        if self.alike is not None and len(self.alike) != k:
            raise BadShape("A frame needs the similarity of every stratum and day, or of none.")
        if any(table.shape != (k, CLASSES) for table in (self.drawn, self.visits, self.watched_s)):
            raise BadShape(f"A frame's counts need {CLASSES} utilisation classes per stratum and day.")


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights, and the grouping of visits for the variance.

    The stratum-days of a frame form s variance strata. The visits of each fall into groups, one per utilisation class,
    but classes with a single visit form one group together. Group g belongs to stratum g // CLASSES.
    """

    weight: Float
    """Units of the fleet per observed unit; (k, CLASSES), 0 without ingested visits."""
    group: Int
    """Group of each stratum-day and class; -1 for days without ingested visits; (k, CLASSES)."""
    visits: Float
    """Ingested visits of each group; (s × CLASSES,)."""
    share: Float
    """Share of its stratum's machine-time that each group represents; adding up to 1; (s × CLASSES,)."""
    drawn: Float
    """Visits of each variance stratum that determine how its machine-time divides into classes; (s,)."""
    fpc: Float
    """Share of each variance stratum's machine-time that was not watched, 0…1; (s,)."""
    uncovered: float
    """Share of all machine-time in days without ingested visits, 0…1; 1 if there is no machine-time."""


def weigh(frame: Frame) -> Weights:
    """Weights of all stratum-days.

    A stratum-day with fewer than `ENOUGH` ingested visits is joined with its neighbour by stratum on the same day, one
    of the same machines if there is one: their machine-time and visits add up. A day without ingested visits has weight
    0 and counts as `uncovered`.
    """
    alike = frame.stratum if frame.alike is None else frame.alike
    stratum = _joined(frame.stratum, alike, frame.day, frame.visits.sum(axis=1))
    size = int(stratum.max(initial=-1)) + 1
    machine_s = frame.population * frame.covered_s
    kept = stratum >= 0
    of = stratum[kept]
    time = sums(of, machine_s[kept], size)
    drawn, visits, watched = (
        _by_stratum(of, table[kept], size) for table in (frame.drawn, frame.visits, frame.watched_s)
    )
    drawn = np.maximum(drawn, visits)
    share = _shares(drawn, watched)
    member = np.arange(size)[:, None] * CLASSES + _without_loners(visits)
    per_class = np.divide(time[:, None] * share, watched, out=np.zeros_like(watched), where=watched > 0)
    weight = np.zeros((len(stratum), CLASSES))
    weight[kept] = per_class[of]
    group = np.full((len(stratum), CLASSES), -1, np.int64)
    group[kept] = member[of]
    seen = np.divide(watched.sum(axis=1), time, out=np.ones(size), where=time > 0)
    whole = float(machine_s.sum())
    return Weights(
        weight=weight,
        group=group,
        visits=sums(member.ravel(), visits.ravel(), size * CLASSES),
        share=sums(member.ravel(), share.ravel(), size * CLASSES),
        drawn=drawn[:, 1:].sum(axis=1) + visits[:, 0],
        fpc=np.clip(1.0 - seen, 0.0, 1.0),
        uncovered=float(machine_s[~kept].sum()) / whole if whole > 0 else 1.0,
    )


def equal(visits: Float) -> Weights:
    """Variance strata with these numbers of visits, all answered; the visits have their own weights.

    A visit of stratum i is in group i × CLASSES.
    """
    groups = np.zeros((len(visits), CLASSES))
    groups[:, 0] = visits
    only = np.zeros_like(groups)
    only[:, 0] = 1.0
    return Weights(
        weight=np.zeros_like(groups),
        group=np.arange(groups.size).reshape(groups.shape),
        visits=groups.ravel(),
        share=only.ravel(),
        drawn=visits,
        fpc=np.ones(len(visits)),
        uncovered=0.0,
    )


def _joined(stratum: Int, alike: Int, day: Int, ingested: Float) -> Int:
    """The variance stratum of each row; -1 for rows of days without an ingested visit.

    A day's strata are processed in order, with alike ones adjacent. A group is closed when it has `ENOUGH` visits. The
    rest of alike strata joins the last group closed among them, and the rest of the day joins the last group closed.
    """
    group = np.full(len(stratum), -1, np.int64)
    order = np.lexsort((stratum, alike, day))
    bounds = np.flatnonzero(np.diff(day[order], prepend=day[order][:1] - 1, append=day[order][-1:] + 1))
    number = -1
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        rows = order[first:last]
        if not ingested[rows].any():
            continue
        open_until, seen = 0, 0.0
        closed = False
        of_closed = -1
        kinds = alike[rows].tolist()
        for place, (visits, kind) in enumerate(zip(ingested[rows].tolist(), kinds, strict=True), start=1):
            seen += visits
            if seen >= ENOUGH:
                number += 1
                group[rows[open_until:place]] = number
                open_until, seen, closed, of_closed = place, 0.0, True, kind
            elif of_closed == kind and kinds[place : place + 1] != [kind]:
                group[rows[open_until:place]] = number
                open_until, seen = place, 0.0
        if not closed:
            number += 1
        group[rows[open_until:]] = number
    return group


def _by_stratum(of: Int, table: Float, size: int) -> Float:
    return np.column_stack([sums(of, table[:, column], size) for column in range(CLASSES)])


def _shares(drawn: Float, watched: Float) -> Float:
    """The share of its stratum's machine-time that each class with ingested visits represents; (s, CLASSES).

    Visits of unknown utilisation represent the average of the visits of their stratum.
    """
    present = watched > 0
    represented = _to_nearest(drawn[:, 1:], present[:, 1:])
    all_watched, all_known = watched.sum(axis=1), represented.sum(axis=1)
    unknown = np.divide(watched[:, 0], all_watched, out=np.zeros(len(drawn)), where=all_watched > 0)
    known = np.divide(1 - unknown, all_known, out=np.zeros(len(drawn)), where=all_known > 0)
    return np.column_stack([unknown, represented * known[:, None]])


def _to_nearest(drawn: Float, present: Bool) -> Float:
    """`drawn`, with classes without ingested visits moved to the nearest class with some.

    Ties go to the busier class: busy machines are those that do not answer.
    """
    moved = np.zeros_like(drawn)
    classes = np.arange(drawn.shape[1])
    some = np.flatnonzero(present.any(axis=1))
    for column in classes.tolist():
        distance = np.where(present[some], np.abs(classes - column) - 0.5 * (classes > column), np.inf)
        np.add.at(moved, (some, np.argmin(distance, axis=1)), drawn[some, column])
    return moved


def _without_loners(visits: Float) -> Int:
    """The class whose group the visits of each class join, so that few groups have a single visit.

    Classes with one visit form one group together; if there is only one such class, it joins the class with most
    visits.
    """
    member = np.broadcast_to(np.arange(CLASSES), visits.shape).copy()
    lone = visits == 1
    joined = np.where(lone.sum(axis=1) > 1, np.argmax(lone, axis=1), np.argmax(visits, axis=1))
    return np.where(lone, joined[:, None], member)
