"""Frames, visits and tables at random, and slow second opinions on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Float, Int
from analysis.visit_table import VisitTable
from analysis.weights import CLASSES, Frame, Weights, weigh


@dataclass
class Made:
    """Ingested visits with what they saw, and the frame they belong to."""

    frame: Frame
    weights: Weights
    at: Int
    """Row of the frame of each visit."""
    klass: Int
    seconds: Float
    x: Float
    y: Float
    """(visits, rows), dense."""

    @property
    def weight(self) -> Float:
        return self.weights.weight[self.at, self.klass]

    @property
    def group(self) -> Int:
        return self.weights.group[self.at, self.klass]


def made(
    seed: int,
    *,
    strata: int = 3,
    days: int = 2,
    visits: int = 40,
    rows: int = 4,
    failing: float = 0.3,
    idle: float = 0.2,
) -> Made:
    rng = np.random.default_rng(seed)
    k = strata * days
    at, klass = rng.integers(k, size=visits), rng.integers(CLASSES, size=visits)
    ingested = rng.random(visits) > failing * klass / CLASSES
    seconds = rng.choice([2.5, 5.0], size=visits)
    x = np.where(rng.random(visits) < idle, 0, rng.integers(1, 1000, visits)).astype(float)
    y = np.floor(x[:, None] * rng.dirichlet(np.full(rows + 1, 0.3), visits)[:, :rows])
    drawn, there, watched = (np.zeros((k, CLASSES)) for _ in range(3))
    np.add.at(drawn, (at, klass), 1)
    np.add.at(there, (at[ingested], klass[ingested]), 1)
    np.add.at(watched, (at[ingested], klass[ingested]), seconds[ingested])
    frame = Frame(
        stratum=np.tile(np.arange(strata), days),
        day=np.repeat(np.arange(days), strata),
        population=rng.integers(1, 500, k).astype(float),
        covered_s=np.repeat(rng.choice([3600.0, 86400.0], days), strata),
        drawn=drawn,
        visits=there,
        watched_s=watched,
    )
    return Made(
        frame, weigh(frame), at[ingested], klass[ingested], seconds[ingested], x[ingested], y[ingested]
    )


def frame(rows: Sequence[tuple[float, Mapping[int, tuple[int, int]]]]) -> Frame:
    """A frame of one day from (population, {class: (drawn, ingested)}) of each stratum; 5 s a visit, an hour covered."""
    k = len(rows)
    drawn, visits = np.zeros((k, CLASSES)), np.zeros((k, CLASSES))
    for i, (_, classes) in enumerate(rows):
        for klass, (asked, ingested) in classes.items():
            drawn[i, klass], visits[i, klass] = asked, ingested
    return Frame(
        stratum=np.arange(k),
        day=np.zeros(k, np.int64),
        population=np.array([float(population) for population, _ in rows]),
        covered_s=np.full(k, 3600.0),
        drawn=drawn,
        visits=visits,
        watched_s=5 * visits,
    )


def table(
    y: ArrayLike,
    *,
    x: ArrayLike | None = None,
    stratum: ArrayLike | None = None,
    key: ArrayLike | None = None,
    weight: ArrayLike | None = None,
) -> VisitTable:
    """A visit table from dense (visits, rows)."""
    dense = np.asarray(y, np.float64)
    visits, rows = dense.shape
    row, visit = np.nonzero(dense.T)
    return VisitTable(
        key=np.arange(visits) if key is None else np.asarray(key, np.int64),
        stratum=np.zeros(visits, np.int64) if stratum is None else np.asarray(stratum, np.int64),
        weight=np.ones(visits) if weight is None else np.asarray(weight, np.float64),
        x=dense.sum(axis=1) if x is None else np.asarray(x, np.float64),
        row=row,
        visit=visit,
        y=dense[visit, row],
        rows=rows,
    )
