"""The functions and calls of one selection, or of a selection and its base as one graph."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storage.arrays import Bool, Float, Int64
from storage.query.samples import Samples
from storage.query.shapes.call_edges import Called, Calls, calls_between, functions_of
from storage.query.shapes.frame_tree import Borne
from storage.query.shapes.side_shares import Shares, largest, spread


@dataclass(frozen=True, slots=True)
class GraphSide:
    """One selection."""

    samples: Samples
    borne: Borne
    called: Called

    @classmethod
    def of(cls, samples: Samples) -> "GraphSide":
        """The functions of the samples."""
        borne = Borne.of(samples.shape, samples.facts.units, samples.weighted)
        return cls(samples, borne, functions_of(borne))

    def shares(self, weight: Float) -> Float:
        """Shares of the whole selection, 0…1."""
        whole = self.samples.whole
        return np.clip(weight / whole, 0.0, 1.0) if whole > 0 else np.zeros(len(weight))


@dataclass(frozen=True, slots=True)
class GraphFunctions:
    """Columns over the functions of all sides, by ascending id; 0 where a side does not have the function."""

    id: Int64
    own: Int64
    """Observed units of the first side."""
    total: Int64
    own_share: Shares
    """For each side."""
    total_share: Shares

    @classmethod
    def of(cls, sides: Sequence[GraphSide]) -> "GraphFunctions":
        """The functions of one or two selections."""
        ids = np.unique(np.concatenate([side.called.function for side in sides]))
        places = [np.searchsorted(ids, side.called.function) for side in sides]
        first = sides[0].called
        return cls(
            ids,
            spread(first.own, places[0], len(ids)),
            spread(first.total, places[0], len(ids)),
            tuple(
                spread(side.shares(side.called.own_weight), place, len(ids))
                for side, place in zip(sides, places, strict=True)
            ),
            tuple(
                spread(side.shares(side.called.total_weight), place, len(ids))
                for side, place in zip(sides, places, strict=True)
            ),
        )

    @property
    def weight(self) -> Float:
        """The larger total share of all sides."""
        return largest(self.total_share)

    def heaviest(self, most: int, min_share: float) -> Int64:
        """Places of the heaviest functions, heaviest first, without those below `min_share` on all sides."""
        weight = self.weight
        order = np.lexsort((self.id, -largest(self.own_share), -weight))[:most]
        return order[weight[order] >= min_share]


@dataclass(frozen=True, slots=True)
class GraphCalls:
    """Columns over the calls of all sides among some functions, ascending; 0 where a side does not have the call."""

    caller: Int64
    """Function ids."""
    callee: Int64
    units: Int64
    """Observed units of the first side."""
    share: Shares
    """For each side."""
    residual: Bool
    """Some stacks of a side have left-out functions between caller and callee."""

    @classmethod
    def of(cls, sides: Sequence[GraphSide], functions: Int64) -> "GraphCalls":
        """The calls among these functions, given as ascending ids."""
        calls = [calls_between(side.borne, functions) for side in sides]
        keys = [_key(found) for found in calls]
        pairs = np.unique(np.concatenate(keys))
        places = [np.searchsorted(pairs, key) for key in keys]
        residual = np.zeros(len(pairs), np.bool_)
        for found, place in zip(calls, places, strict=True):
            residual[place] |= found.residual
        return cls(
            pairs >> 32,
            pairs & 0xFFFFFFFF,
            spread(calls[0].units, places[0], len(pairs)),
            tuple(
                spread(side.shares(found.weight), place, len(pairs))
                for side, found, place in zip(sides, calls, places, strict=True)
            ),
            residual,
        )

    @property
    def weight(self) -> Float:
        """The larger share of all sides."""
        return largest(self.share)

    def heaviest(self, most: int, min_share: float) -> Int64:
        """Places of the heaviest calls, heaviest first, without those below `min_share` on all sides."""
        weight = self.weight
        order = np.argsort(-weight, kind="stable")[:most]
        return order[weight[order] >= min_share]


def _key(calls: Calls) -> Int64:
    return (calls.caller << 32) | calls.callee
