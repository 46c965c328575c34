"""Rows of functions out of cells that say what each has: no stacks were read but those of visits that are in no cell."""

import numpy as np

from storage.query.arrays import Int64
from storage.query.function_samples import FunctionSamples
from storage.query.shapes.frame_keys import function_key
from storage.query.shapes.table_frames import brought_at
from storage.query.stacks.functions import Functions
from storage.query.weighing import by_visit
from storage.query.weighing.by_visit import Brought
from storage.query.weighing.evidence import Details


class FunctionRows:
    """One row for each function with units."""

    def __init__(self, functions: Functions, samples: FunctionSamples) -> None:
        self._functions = functions
        self._samples = samples
        self._ids = samples.sums.function
        self.own = samples.sums.own
        self.total = samples.sums.total
        self.own_weight = samples.sums.own_weight
        self.total_weight = samples.sums.total_weight

    def key(self, place: int) -> dict[str, str]:
        """What the function is called."""
        return function_key(self._functions.row(self.function_id(place)))

    def function_id(self, place: int) -> int:
        """The row's function."""
        return int(self._ids[place])

    def details(self, places: Int64) -> Details:
        """Details of some rows, in their order."""
        return self._samples.evidence.details(self.brought(places), self._ids[places])

    def brought(self, places: Int64, *, totals: bool = True) -> Brought:
        """What each visit that is in no cell brought to some rows, in their order."""
        shape, seen, rows = self._samples.shape, self._samples.seen, len(places)
        if not len(seen):
            none = by_visit.joined([], rows)
            return Brought(np.zeros(rows, np.int64), np.zeros(rows, np.int64), none, none)
        # A visit may add to a function as much as another takes away: it has a node, but no row.
        size = int(max(shape.function.max(), self._ids.max(initial=0))) + 1
        row_of = np.full(size, -1, np.int64)
        row_of[self._ids[places]] = np.arange(rows)
        of_node = row_of[shape.function]
        visits = len(self._samples.evidence)
        return brought_at(shape, shape.outermost, of_node, seen, rows=rows, visits=visits, totals=totals)
