"""Apply the weights of a day's final coverage to its cells: pure arithmetic.

All cells that are merged into one (over the strata and classes of a day) are passed to `analysis.moments` in one call,
with the applications side by side: each gets its own copy of the day's variance strata.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.moments import from_sums
from analysis.weights import Weights, weigh
from storage.arrays import Float, Int64, by_pair, counts
from storage.query.estimation.strata import Strata
from storage.rollup.long_moments import Parts
from storage.rollup.read_cells import Cells, Exposure


@dataclass(frozen=True, slots=True)
class DayWeights:
    """The weights of one day's visits."""

    strata: Strata
    weights: Weights

    def of(self, cells: Cells) -> tuple[Float, Int64]:
        """The weight of each cell and its group in `weights`; (0, -1) for a cell without coverage."""
        row = self.strata.row(cells.stratum, cells.day)
        inside = row >= 0
        at, klass = row[inside], cells.utilisation_class[inside] + 1
        weight, group = np.zeros(len(cells)), np.full(len(cells), -1, np.int64)
        weight[inside], group[inside] = self.weights.weight[at, klass], self.weights.group[at, klass]
        return weight, group


def day_weights(strata: Strata, watched: Exposure) -> DayWeights:
    """Compute weights from a day's planned coverage and the exposure of its cells."""
    row = strata.row(watched.stratum, watched.day)
    inside = row >= 0
    frame = strata.frame(
        row[inside],
        watched.utilisation_class[inside] + 1,
        watched.visits[inside].astype(np.float64),
        watched.seconds[inside],
    )
    return DayWeights(strata, weigh(frame))


def ingested_behind(weights: DayWeights) -> tuple[float, float]:
    """Ingested visits of a day, and the degrees of freedom of its variances."""
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    pairs = dict.fromkeys(("x", "xx", "y", "yy", "xy", "yyyy", "visits"), nothing)
    found = from_sums(nothing, none, weights.weights, cell=none, row=none, rows=0, **pairs)
    return found.ingested, found.df


@dataclass(frozen=True, slots=True)
class WeightedFacts:
    """(cell, stack, units, weighted units), ascending by cell and stack, each pair once."""

    cell: Int64
    stack: Int64
    units: Int64
    weighted: Float


NO_FACTS = WeightedFacts(*(np.zeros(0, np.int64),) * 3, np.zeros(0))


def add_facts(a: WeightedFacts, b: WeightedFacts) -> WeightedFacts:
    """Sum both; either may repeat pairs and be in any order."""
    cell, stack, units, weighted = (
        np.concatenate((getattr(a, name), getattr(b, name)))
        for name in ("cell", "stack", "units", "weighted")
    )
    order, first = by_pair(cell, stack)
    if not len(order):
        return NO_FACTS
    lead = order[first]
    return WeightedFacts(
        cell[lead], stack[lead], np.add.reduceat(units[order], first), np.add.reduceat(weighted[order], first)
    )


def day_parts(cells: Cells, into: Int64, size: int, weights: DayWeights, event: Cells) -> Parts:
    """The moments of `size` cells merged from a day's cells; cell i goes into `into[i]`.

    `event` are the day's cells of the whole event, for the covariance with it.
    """
    if cells.moments is None:
        raise TypeError("these cells have no moments")
    weight, group = weights.of(cells)
    kept = np.flatnonzero(group >= 0)
    sums, of, weight, group = cells.moments.of(kept), into[kept], weight[kept], group[kept]
    event_weight, event_group = weights.of(event)
    known = event_group >= 0
    whole = from_sums(
        np.concatenate((weight, event_weight[known])),
        np.concatenate((group, event_group[known])),
        weights.weights,
        x=np.concatenate((np.zeros(len(kept)), event.total[known].astype(np.float64))),
        xx=np.zeros(len(kept) + int(known.sum())),
        cell=np.arange(len(kept)),
        row=of,
        y=sums.x,
        yy=sums.xx,
        xy=sums.xe,
        yyyy=sums.xxxx,
        visits=sums.visits.astype(np.float64),
        rows=size,
    )
    beside = _side_by_side(weights.weights, size)
    groups = of * len(weights.weights.visits) + group
    # Rows are the functions of all cells: a cell of weight 0 still counts as observed, with its visits and machines.
    every = cells.moments
    order, first = by_pair(into[every.cell], every.function)
    lead = order[first]
    row = np.empty(len(order), np.int64)
    row[order] = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
    observed = [_row_sums(column, order, first) for column in (every.own, every.total)]
    row_visits = _row_sums(every.row_visits, order, first)
    bits = _ored(row, every.row_machines, len(lead))
    weighs = np.zeros(len(every), np.bool_)
    weighs[kept] = True
    row = row[weighs[every.cell]]
    found = [
        from_sums(
            weight,
            groups,
            beside,
            x=sums.x,
            xx=sums.xx,
            cell=sums.cell,
            row=row,
            y=getattr(sums, name).astype(np.float64),
            yy=getattr(sums, f"{name}2"),
            xy=getattr(sums, f"{name}_x"),
            yyyy=getattr(sums, f"{name}4"),
            visits=sums.row_visits.astype(np.float64),
            rows=len(lead),
        )
        for name in ("own", "total")
    ]
    own, total = found
    arguments: list[Any] = [
        _ored(into, every.machines, size), np.full(size, whole.ingested), np.full(size, whole.df),
        whole.y, whole.vyy, whole.vxy, whole.second, whole.fourth,
        counts(into[every.cell[lead]], size), every.function[lead], row_visits, bits, own.y, total.y,
    ]  # fmt: skip
    for of_kind in found:
        arguments += [of_kind.vyy, of_kind.vxy, of_kind.second, of_kind.fourth]
    arguments += observed
    return Parts(*arguments)


def _row_sums(column: Any, order: Int64, first: Int64) -> Any:
    return np.add.reduceat(column[order], first) if len(order) else column


def _side_by_side(weights: Weights, times: int) -> Weights:
    """Repeat the variance strata `times` times."""
    return replace(
        weights,
        visits=np.tile(weights.visits, times),
        share=np.tile(weights.share, times),
        drawn=np.tile(weights.drawn, times),
        fpc=np.tile(weights.fpc, times),
    )


def _ored(into: Int64, bits: Int64, size: int) -> Int64:
    merged = np.zeros(size, np.int64)
    np.bitwise_or.at(merged, into, bits)
    return merged
