"""How many units of the fleet one observed unit stands for.

Of a stratum h with N machines, of which the campaign saw some during the T covered seconds of a day,
the landed visits watched Σs seconds. A unit observed there stands for

    w = N · T / Σs

units: machine-seconds that were there for each that was watched. Machines that fail to answer are
busier than the others, so the same is done within classes of utilisation: a class gets the share of
N · T that its *drawn* visits have, failures included, and divides it by what its landed visits watched.
Always Σ w·s = N · T, so nothing is lost and nothing is added. Source: DESIGN §4; Särndal, Swensson,
Wretman, Model Assisted Survey Sampling, §15.6 (response homogeneity groups).
"""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Bool, Float, Int, sums
from analysis.errors import BadShape

CLASSES = 5
"""Columns of a frame: 0 for visits whose utilisation is not known, 1…4 for its quarters."""
ENOUGH = 2
"""Landed visits that a stratum-day needs to stand alone: with one there is no variance."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What was to be covered and what was: k rows, one per stratum and UTC day."""

    stratum: Int
    day: Int
    population: Float
    """Machines, a mean over the covered hours; shape (k,)."""
    covered_s: Float
    """Seconds of the selection in which the campaign drew visits, the same for all strata of a day; (k,)."""
    drawn: Float
    """Visits drawn, whatever came of them; (k, CLASSES)."""
    visits: Float
    """Visits landed, those without any sample too; (k, CLASSES)."""
    watched_s: Float
    """Seconds that the landed visits watched the event; (k, CLASSES)."""

    def __post_init__(self) -> None:
        k = len(self.stratum)
        if any(len(column) != k for column in (self.day, self.population, self.covered_s)):
            raise BadShape("A frame's columns need one entry per stratum and day.")
        if any(table.shape != (k, CLASSES) for table in (self.drawn, self.visits, self.watched_s)):
            raise BadShape(f"A frame's counts need {CLASSES} utilisation classes per stratum and day.")


@dataclass(frozen=True, slots=True)
class Weights:
    """What weighs how much, and which visits are compared with each other for the variance."""

    weight: Float
    """Units of the fleet per unit observed; (k, CLASSES), 0 where nothing landed."""
    group: Int
    """Variance stratum of each row of the frame, 0…g−1; -1 for days on which nothing landed; (k,)."""
    visits: Float
    """Landed visits of each variance stratum; (g,)."""
    fpc: Float
    """Share of each variance stratum's machine-time that nobody watched, 0…1; (g,)."""
    uncovered: float
    """Share of all machine-time that lies in days on which nothing landed, 0…1; 1 when there is none."""


def weigh(frame: Frame) -> Weights:
    """Weights of all stratum-days.

    A stratum-day with fewer than `ENOUGH` landed visits is joined with its neighbour by stratum of the
    same day: their machine-time and visits add up. A day on which nothing landed weighs nothing and is
    told in `uncovered`.
    """
    landed = frame.visits.sum(axis=1)
    group = _joined(frame.stratum, frame.day, landed)
    size = int(group.max(initial=-1)) + 1
    machine_s = frame.population * frame.covered_s
    kept = group >= 0
    of = group[kept]
    time = sums(of, machine_s[kept], size)
    drawn, visits, watched = (
        _by_group(of, table[kept], size) for table in (frame.drawn, frame.visits, frame.watched_s)
    )
    weight = np.zeros((len(group), CLASSES))
    weight[kept] = _class_weights(time, np.maximum(drawn, visits), watched)[of]
    watched_all = watched.sum(axis=1)
    share = np.divide(watched_all, time, out=np.ones(size), where=time > 0)
    whole = float(machine_s.sum())
    return Weights(
        weight=weight,
        group=group,
        visits=visits.sum(axis=1),
        fpc=np.clip(1.0 - share, 0.0, 1.0),
        uncovered=float(machine_s[~kept].sum()) / whole if whole > 0 else 1.0,
    )


def _joined(stratum: Int, day: Int, landed: Float) -> Int:
    """Number of the variance stratum of each row; -1 for rows of days without a landed visit.

    Going through a day's strata in order, a group is closed as soon as it has `ENOUGH` visits; what is
    left at the end of the day goes to the last one closed.
    """
    group = np.full(len(stratum), -1, np.int64)
    order = np.lexsort((stratum, day))
    bounds = np.flatnonzero(np.diff(day[order], prepend=day[order][:1] - 1, append=day[order][-1:] + 1))
    number = -1
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        rows = order[first:last]
        if not landed[rows].any():
            continue
        open_until, seen = 0, 0.0
        closed = False
        for place, visits in enumerate(landed[rows].tolist(), start=1):
            seen += visits
            if seen >= ENOUGH:
                number += 1
                group[rows[open_until:place]] = number
                open_until, seen, closed = place, 0.0, True
        if not closed:
            number += 1
        group[rows[open_until:]] = number
    return group


def _by_group(of: Int, table: Float, size: int) -> Float:
    return np.column_stack([sums(of, table[:, column], size) for column in range(CLASSES)])


def _class_weights(time: Float, drawn: Float, watched: Float) -> Float:
    """Weights of each group's classes; (g, CLASSES).

    Visits of unknown utilisation weigh what a visit of the group weighs on average.
    """
    known, present = drawn[:, 1:], watched[:, 1:] > 0
    all_watched, known_watched = watched.sum(axis=1), watched[:, 1:].sum(axis=1)
    mean = np.divide(time, all_watched, out=np.zeros(len(time)), where=all_watched > 0)
    represented = _to_nearest(known, present)
    all_known = represented.sum(axis=1)
    # The known classes together get the part of the machine-time that their visits watched.
    scale = np.divide(mean * known_watched, all_known, out=np.zeros(len(time)), where=all_known > 0)
    weight = np.zeros_like(watched)
    weight[:, 1:] = np.divide(
        represented * scale[:, None], watched[:, 1:], out=np.zeros_like(known), where=present
    )
    weight[:, 0] = mean * (watched[:, 0] > 0)
    return weight


def _to_nearest(drawn: Float, present: Bool) -> Float:
    """`drawn` with the classes that have nothing landed moved to the nearest one that has.

    Of two as near, to the busier one: it is busy machines that do not answer.
    """
    moved = np.zeros_like(drawn)
    classes = np.arange(drawn.shape[1])
    some = np.flatnonzero(present.any(axis=1))
    for column in classes.tolist():
        distance = np.where(present[some], np.abs(classes - column) - 0.5 * (classes > column), np.inf)
        np.add.at(moved, (some, np.argmin(distance, axis=1)), drawn[some, column])
    return moved
