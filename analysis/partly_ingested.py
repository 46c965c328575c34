"""Weights by time step, within days whose newest visits are not ingested yet.

A day's ingested visits represent the whole day (`weights`). So a step with waiting visits would be estimated too low,
and all other steps of its day too high. Here a piece (a step's part of a day) is divided into pools of one or more
strata; if W of the D visits drawn in a pool are waiting, each ingested visit represents

    1/p = D / (D − W)

visits: those drawn per visit that has ended, ingested or failed. For a stratum and a day

    w = N · T' / Σ(s/p) · 1/p

where T' excludes pieces without estimates, of which too little is ingested. Given the number of ended visits of each
pool, the expected value of Σ w·y over a piece is its value after all are ingested, if waiting is independent of what a
visit observed, given its piece and stratum. Without waiting visits p is 1, and the weights are those of `weights`.
Sources: docs/numbers.md; Särndal, Swensson, Wretman, Model Assisted Survey Sampling, §9.8 and §15.6.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from analysis.arrays import Bool, Float, Int, sums
from analysis.weights import CLASSES, ENOUGH, Frame, Weights, weigh

EXPECTED = 5.0
"""Expected ended visits of a pool at its piece's overall rate; strata with fewer are joined."""
UNLIKE = 2.5
"""Standard errors by which a stratum's ended visits deviate from their part of the day's, if it stays separate."""
UNKNOWN = 0.1
"""Maximum part of a piece's visits in strata that deviate but have too few ingested visits, which others then
represent."""

Piece = tuple[int, int]
"""A day and a step."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Columns over the drawn visits, whatever their outcome, on the days that are weighted by piece."""

    row: Int
    """Row of the frame, like `Ingested.row`."""
    utilisation_class: Int
    step: Int
    waits: Bool
    """The visit has not ended: it is open, or archived and not ingested."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """Columns over the ingested visits that sampled the event, of all days."""

    row: Int
    utilisation_class: Int
    step: Int
    seconds: Float


@dataclass(frozen=True, slots=True)
class Varying:
    """The variance structure of a step with waiting visits."""

    visits: Int
    """Indexes of its ingested visits."""
    group: Int
    """The group of each in `weights`; -1 for weight 0."""
    weights: Weights
    """With the step's pools as variance strata for the days with waiting visits."""


@dataclass(frozen=True, slots=True)
class PartlyIngested:
    """Weights of ingested visits; columns over these, in their order."""

    weight: Float
    """Units of the fleet per observed unit."""
    group: Int
    """Group in `weights`; -1 for weight 0."""
    weights: Weights
    varying: Mapping[int, Varying]
    """By step, for steps with waiting visits and an estimate."""
    without_estimate: frozenset[int]
    """Steps without an estimate: a pool with waiting visits has fewer than `ENOUGH` ingested ones."""


@dataclass(frozen=True, slots=True)
class _Pools:
    """The pools of a piece with waiting visits."""

    of_row: Int
    """The pool of each row of the frame; -1 for rows of other days."""
    rows: Int
    """A row of each pool; this and the next columns are by pool."""
    drawn: Float
    ended: Float
    ingested: Float

    @property
    def each(self) -> Float:
        """Visits drawn per ended visit."""
        return np.divide(self.drawn, self.ended, out=np.ones(len(self.drawn)), where=self.ended > 0)

    @property
    def chance(self) -> Float:
        """Relative variance of D, the visits drawn in a piece, and of n, the ingested among the D − W ended ones.

        A pool's `drawn` in the weights is chosen so that the between-group part of its variance equals this.
        """
        drawn, ended, ingested = (
            np.maximum(number, 1.0) for number in (self.drawn, self.ended, self.ingested)
        )
        return 1 / drawn + np.maximum(1 / ingested - 1 / ended, 0.0)


@dataclass(frozen=True, slots=True)
class _Day:
    """A day with waiting visits: columns over its strata, in the order in which `weigh` joins them, by piece."""

    rows: Int
    """Rows of the frame."""
    pieces: Int
    """Steps with waiting visits."""
    drawn: Float
    """(strata, pieces), also the next two."""
    ended: Float
    ingested: Float
    size: int
    """Number of rows of the frame."""

    @classmethod
    def of(cls, frame: Frame, day: int, drawn: Drawn, ingested: Ingested) -> "_Day":
        """Count the day's visits."""
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
        """Strata whose visits wait longer or shorter than the others of the day, beyond chance."""
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
        """The pools of a piece, by its index; None: too little is ingested.

        Strata are joined in order until a pool expects at least `EXPECTED` ended visits; deviating strata stay
        separate.
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
    """Weights of a frame, where `drawn` has the days that are divided into steps and have waiting visits.

    `piece_s` has the covered seconds of every piece with a waiting visit.
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
            if pools is None or not piece_s[day, step] > 0:  # no estimate for time that is not covered
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
    without_estimate = frozenset(step for _, step in left_out)
    varying = {}
    for step in sorted({step for _, step in said} - without_estimate):
        here = np.flatnonzero(ingested.step == step)
        pieces = {day: pools for (day, of), pools in said.items() if of == step}
        seconds = {day: piece_s[day, step] for day in pieces}
        made, first = _with_pools(left, weights, pieces, seconds)
        at = np.array([first.get(day, -1) for day in day_ingested[here].tolist()], np.int64)
        varying[step] = Varying(here, np.where(at >= 0, (at + pool[here]) * CLASSES, group[here]), made)
    weight = weights.weight[ingested.row, ingested.utilisation_class] * of_ingested
    weight *= _part_ended(weights, drawn, of_drawn)[ingested.row]
    return PartlyIngested(weight, group, weights, varying, without_estimate)


def _in_order(expected: Float) -> Int:
    """Pool numbers; a pool is closed when it expects `EXPECTED` ended visits, and the rest joins the last pool."""
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
    """The frame restricted to pieces with estimates and their ended visits.

    These determine the response rate of each utilisation class. If they had more weight the fewer of a piece have
    ended, one busy machine among the newest would halve the weight of all similar ones, its own included: sums of the
    newest steps came out 5 % too low.
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
    """For each row of the frame, the ended part of the visits in pieces with estimates."""
    strata = np.where(weights.group[:, 0] >= 0, weights.group[:, 0] // CLASSES, len(weights.fpc))
    of = strata[drawn.row]
    size = len(weights.fpc) + 1
    number = sums(of, (of_drawn > 0).astype(np.float64), size)
    ended = sums(of, (~drawn.waits & (of_drawn > 0)).astype(np.float64), size)
    return np.divide(ended, number, out=np.ones(size), where=number > 0)[strata]


def _with_pools(
    frame: Frame, weights: Weights, pieces: Mapping[int, _Pools], piece_s: Mapping[int, float]
) -> tuple[Weights, dict[int, int]]:
    """The weights with the days' pools, concatenated, as variance strata of these days; and each day's first pool."""
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
