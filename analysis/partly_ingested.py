"""Weights of visits step by step, within days of which the newest visits still wait to be ingested.

A day's ingested visits stand for the whole day (`weights`). So a step in which visits still wait comes out too low, and all
other steps of its day too high. Here a piece (a step's part of a day) is divided into pools of one stratum or several;
where W of the D visits drawn in a pool still wait, each that ingested counts for

    1/p = D / (D − W)

visits: those drawn for each that has come to an end, ingested or failed. Of a stratum and a day

    w = N · T' / Σ(s/p) · 1/p

where T' leaves out the pieces of which nothing is said, because too little of them has been ingested. Given how many visits of each
pool have ended, Σ w·y over a piece has the expected value that it has once all have been ingested, if waiting is independent of
what a visit saw given its piece and stratum. Where nothing waits p is 1 and weights are those of `weights`.
Sources: docs/numbers.md; Särndal, Swensson, Wretman, Model Assisted Survey Sampling, §9.8 and §15.6.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from analysis.arrays import Bool, Float, Int, sums
from analysis.weights import CLASSES, ENOUGH, Frame, Weights, weigh

EXPECTED = 5.0
"""Visits that should have ended in a pool, if as many of its had as of its piece's: with fewer, strata are joined."""
UNLIKE = 2.5
"""Standard errors by which a stratum's ended visits differ from their part of the day's, if it is not joined with others."""
UNKNOWN = 0.1
"""Most of a piece's visits that may be of strata that wait unlike the others and have too few ingested: these stand for them."""

Piece = tuple[int, int]
"""A day and a step."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Columns over the visits drawn, whatever came of them, on the days to be weighed by pieces."""

    row: Int
    """Of the frame, like `Ingested.row`."""
    utilisation_class: Int
    step: Int
    waits: Bool
    """It is under way, or archived and not ingested: it has not come to an end."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """Columns over the ingested visits that watched the event, of all days."""

    row: Int
    utilisation_class: Int
    step: Int
    seconds: Float


@dataclass(frozen=True, slots=True)
class Varying:
    """How the visits of a step vary, in which some still wait."""

    visits: Int
    """Places of its ingested visits."""
    group: Int
    """Of each, in `weights`; -1 for what weighs nothing."""
    weights: Weights
    """With the step's pools instead of the variance strata of its days in which visits wait."""


@dataclass(frozen=True, slots=True)
class PartlyIngested:
    """Weights of ingested visits; columns over these, in their order."""

    weight: Float
    """Units of the fleet per unit observed."""
    group: Int
    """In `weights`; -1 for what weighs nothing."""
    weights: Weights
    varying: Mapping[int, Varying]
    """By step, where visits wait and something is said."""
    unsaid: frozenset[int]
    """Steps of which nothing is said: of a pool in which visits wait fewer than `ENOUGH` ingested."""


@dataclass(frozen=True, slots=True)
class _Pools:
    """The pools of a piece in which visits wait."""

    of_row: Int
    """Of each row of the frame; -1 for those of other days."""
    rows: Int
    """A row of each pool, like the next ones by pool."""
    drawn: Float
    ended: Float
    ingested: Float

    @property
    def each(self) -> Float:
        """Visits drawn for one that ended."""
        return np.divide(self.drawn, self.ended, out=np.ones(len(self.drawn)), where=self.ended > 0)

    @property
    def chance(self) -> Float:
        """Relative variance of how many visits are drawn in a piece, D, and how many of those that ended ingested, n of D − W.

        A pool's `drawn` in the weights is such that what its variance has between groups is just that.
        """
        drawn, ended, ingested = (
            np.maximum(number, 1.0) for number in (self.drawn, self.ended, self.ingested)
        )
        return 1 / drawn + np.maximum(1 / ingested - 1 / ended, 0.0)


@dataclass(frozen=True, slots=True)
class _Day:
    """A day in which visits wait: columns over its strata in the order in which `weigh` joins them, by piece."""

    rows: Int
    """Of the frame."""
    pieces: Int
    """Steps in which some wait."""
    drawn: Float
    """(strata, pieces), like the next two."""
    ended: Float
    ingested: Float
    size: int
    """Rows of the frame."""

    @classmethod
    def of(cls, frame: Frame, day: int, drawn: Drawn, ingested: Ingested) -> "_Day":
        """The day's visits counted."""
        alike = frame.stratum if frame.alike is None else frame.alike
        rows = np.flatnonzero(frame.day == day)
        rows = rows[np.lexsort((frame.stratum[rows], alike[rows]))]
        place = np.full(len(frame.day), -1, np.int64)
        place[rows] = np.arange(len(rows))
        pieces = np.unique(drawn.step[drawn.waits & (place[drawn.row] >= 0)])

        def counted(row: Int, step: Int) -> Float:
            at = np.minimum(np.searchsorted(pieces, step), len(pieces) - 1)
            here = (place[row] >= 0) & (pieces[at] == step)
            cell = place[row][here] * len(pieces) + at[here]
            return sums(cell, np.ones(len(cell)), len(rows) * len(pieces)).reshape(len(rows), -1)

        ended = ~drawn.waits
        return cls(
            rows,
            pieces,
            counted(drawn.row, drawn.step),
            counted(drawn.row[ended], drawn.step[ended]),
            counted(ingested.row, ingested.step),
            len(frame.day),
        )

    @property
    def apart(self) -> Bool:
        """Strata that wait longer or less long than the others of the day, by more than chance would have it."""
        joint = np.ones(len(self.rows), np.bool_)
        while joint.sum() > 1:
            drawn, ended = self.drawn[joint], self.ended[joint]
            of_piece = np.maximum(drawn.sum(axis=0), 1.0)
            part = ended.sum(axis=0) / of_piece
            spread = (drawn * (part * (1 - part)) * (1 - drawn / of_piece)).sum(axis=1)
            off = np.abs((ended - part * drawn).sum(axis=1))
            score = np.divide(off, np.sqrt(spread), out=np.zeros(len(off)), where=spread > 0)
            if score.max() <= UNLIKE:
                break
            joint[np.flatnonzero(joint)[np.argmax(score)]] = False
        return ~joint

    def pools(self, piece: int, apart: Bool) -> _Pools | None:
        """Those of a piece, by its place; None: too little has been ingested.

        Strata are joined in order until a pool may expect `EXPECTED` visits that have ended; those apart stand alone.
        """
        drawn, ended, ingested = self.drawn[:, piece], self.ended[:, piece], self.ingested[:, piece]
        unknown = apart & (drawn > ended) & (ingested < ENOUGH)
        if drawn[unknown].sum() > UNKNOWN * drawn.sum():
            return None
        alone = apart & ~unknown
        joint = np.flatnonzero(~alone)
        pool = np.full(len(self.rows), -1, np.int64)
        pool[joint] = _in_order(drawn[joint] * (ended[joint].sum() / max(drawn[joint].sum(), 1.0)))
        count = int(pool.max(initial=-1)) + 1
        pool[alone] = count + np.arange(int(alone.sum()))
        count = int(pool.max()) + 1
        of_row = np.full(self.size, -1, np.int64)
        of_row[self.rows] = pool
        found = _Pools(
            of_row,
            self.rows[np.unique(pool, return_index=True)[1]],
            sums(pool, drawn, count),
            sums(pool, ended, count),
            sums(pool, ingested, count),
        )
        return None if ((found.drawn > found.ended) & (found.ingested < ENOUGH)).any() else found


def weigh_pieces(
    frame: Frame, drawn: Drawn, ingested: Ingested, piece_s: Mapping[Piece, float]
) -> PartlyIngested:
    """Weights of a frame of which `drawn` has those days that are cut by steps and in which visits wait.

    `piece_s` has the covered seconds of every piece in which a visit waits.
    """
    day_drawn, day_ingested = frame.day[drawn.row], frame.day[ingested.row]
    of_drawn, of_ingested = np.ones(len(drawn.row)), np.ones(len(ingested.row))
    said: dict[Piece, _Pools] = {}
    pool = np.full(len(ingested.row), -1, np.int64)
    left_out: list[Piece] = []
    for day in np.unique(day_drawn[drawn.waits]).tolist():
        of_day = _Day.of(frame, day, drawn, ingested)
        apart = of_day.apart
        for place, step in enumerate(of_day.pieces.tolist()):
            here = np.flatnonzero((day_drawn == day) & (drawn.step == step))
            there = np.flatnonzero((day_ingested == day) & (ingested.step == step))
            pools = of_day.pools(place, apart)
            if pools is None or not piece_s[day, step] > 0:  # of time that is not covered nothing can be said
                of_drawn[here], of_ingested[there] = 0.0, 0.0
                left_out.append((day, step))
                continue
            of_drawn[here] = pools.each[pools.of_row[drawn.row[here]]]
            pool[there] = pools.of_row[ingested.row[there]]
            of_ingested[there] = pools.each[pool[there]]
            said[day, step] = pools
    left = _left(frame, drawn, ingested, of_drawn, of_ingested)
    for day, step in left_out:
        left.covered_s[left.day == day] -= piece_s[day, step]
    np.maximum(left.covered_s, 0.0, out=left.covered_s)
    weights = weigh(left)
    group = np.where(of_ingested > 0, weights.group[ingested.row, ingested.utilisation_class], -1)
    unsaid = frozenset(step for _, step in left_out)
    varying = {}
    for step in sorted({step for _, step in said} - unsaid):
        here = np.flatnonzero(ingested.step == step)
        pieces = {day: pools for (day, of), pools in said.items() if of == step}
        seconds = {day: piece_s[day, step] for day in pieces}
        made, first = _with_pools(left, weights, pieces, seconds)
        at = np.array([first.get(day, -1) for day in day_ingested[here].tolist()], np.int64)
        varying[step] = Varying(here, np.where(at >= 0, (at + pool[here]) * CLASSES, group[here]), made)
    weight = weights.weight[ingested.row, ingested.utilisation_class] * of_ingested
    weight *= _part_ended(weights, drawn, of_drawn)[ingested.row]
    return PartlyIngested(weight, group, weights, varying, unsaid)


def _in_order(expected: Float) -> Int:
    """Numbers of pools, each closed as soon as it may expect `EXPECTED`; what is left goes to the last one closed."""
    pool = np.zeros(len(expected), np.int64)
    number, seen, first = 0, 0.0, 0
    for place, here in enumerate(expected.tolist(), start=1):
        seen += here
        if seen >= EXPECTED:
            pool[first:place] = number
            number, seen, first = number + 1, 0.0, place
    pool[first:] = max(number - 1, 0)
    return pool


def _left(frame: Frame, drawn: Drawn, ingested: Ingested, of_drawn: Float, of_ingested: Float) -> Frame:
    """The frame of the pieces that something is said of, with those of their visits that have come to an end alone.

    These say how much of each class of utilisation answers. Had they more weight the fewer of a piece have ended, one busy machine
    among the newest would halve the weight of all like it, its own too: sums of the newest steps came out 5 % too low.
    """
    size = len(frame.day) * CLASSES
    shape = (len(frame.day), CLASSES)
    counted = (~drawn.waits & (of_drawn > 0)).astype(np.float64)
    ended = sums(drawn.row * CLASSES + drawn.utilisation_class, counted, size).reshape(shape)
    there = (of_ingested > 0).astype(np.float64)
    cell = ingested.row * CLASSES + ingested.utilisation_class
    return replace(
        frame,
        covered_s=frame.covered_s.copy(),
        drawn=np.where(np.isin(frame.day, frame.day[drawn.row])[:, None], ended, frame.drawn),
        visits=sums(cell, there, size).reshape(shape),
        watched_s=sums(cell, there * ingested.seconds, size).reshape(shape),
    )


def _part_ended(weights: Weights, drawn: Drawn, of_drawn: Float) -> Float:
    """Of the visits of the pieces that something is said of, the part that has ended, of each row of the frame."""
    strata = np.where(weights.group[:, 0] >= 0, weights.group[:, 0] // CLASSES, len(weights.fpc))
    of = strata[drawn.row]
    size = len(weights.fpc) + 1
    number = sums(of, (of_drawn > 0).astype(np.float64), size)
    ended = sums(of, (~drawn.waits & (of_drawn > 0)).astype(np.float64), size)
    return np.divide(ended, number, out=np.ones(size), where=number > 0)[strata]


def _with_pools(
    frame: Frame, weights: Weights, pieces: Mapping[int, _Pools], piece_s: Mapping[int, float]
) -> tuple[Weights, dict[int, int]]:
    """The weights with pools, one day's after the other's, instead of these days' variance strata; the number of each day's first."""
    strata = len(weights.fpc)
    number = weights.visits.reshape(strata, CLASSES).copy()
    mine = weights.group[np.isin(frame.day, list(pieces))]
    number[np.unique(mine[mine >= 0]) // CLASSES] = 0.0
    numbers, shares = [number], [weights.share.reshape(strata, CLASSES)]
    drawn, fpc = [weights.drawn], [weights.fpc]
    first = {}
    for day, pools in pieces.items():
        first[day] = sum(map(len, fpc))
        part = min(piece_s[day] / float(frame.covered_s[pools.rows[0]]), 1.0)
        ingested, share = np.zeros((2, len(pools.rows), CLASSES))
        ingested[:, 0], share[:, 0] = pools.ingested, part
        numbers.append(ingested)
        shares.append(share)
        drawn.append(1 + 1 / (part * pools.chance))
        fpc.append(weights.fpc[weights.group[pools.rows, 0] // CLASSES])
    return (
        replace(
            weights,
            visits=np.concatenate(numbers).ravel(),
            share=np.concatenate(shares).ravel(),
            drawn=np.concatenate(drawn),
            fpc=np.concatenate(fpc),
        ),
        first,
    )
