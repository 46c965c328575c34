"""Occurrences of functions in stacks, with their callers and callees.

A call counts once per stack, at its outermost occurrence, however often it recurs. The callers partition the
functions' self. The callees partition nothing, since a stack through a recursive function has several calls.
"""

import itertools
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from storage.arrays import Int64, distinct, group_starts, ranges, sorting, sum_at, weight_at
from storage.query.estimation import visit_totals
from storage.query.estimation.visit_evidence import Details, Visits
from storage.query.estimation.visit_totals import Contributions
from storage.query.samples import Samples
from storage.query.shapes.frame_keys import function_key
from storage.query.shapes.frame_tree import COLUMNS, Borne, FrameTree, from_callees
from storage.query.stacks import prefix_tree
from storage.query.stacks.function_names import Functions
from storage.query.subject import Subject
from storage.snapshots import query_budget


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The nodes of some functions in a tree with its values."""

    named: Functions
    samples: Samples
    borne: Borne
    functions: Int64
    """Ids of the functions that occur with at least one unit, by descending total."""
    nodes: Int64
    """Nodes of the functions, ascending."""
    outermost: Int64
    """Nodes among `nodes` that are below no other of them."""
    ends: "Ends"

    @classmethod
    def of(cls, named: Functions, samples: Samples, subject: Subject) -> "Occurrences":
        """The occurrences of the subject's functions."""
        query_budget.checkpoint()  # a query for a thousand users builds a tree for each
        shape = samples.shape
        borne = Borne.of(shape, samples.facts.units, samples.weighted)
        used, which = distinct(shape.function)
        nodes = np.flatnonzero(subject.among(named, used)[which])
        outer = nodes[shape.outermost[nodes] & (borne.total[nodes] > 0)]
        found, which = distinct(shape.function[outer])
        functions = found[np.argsort(-sum_at(which, borne.total[outer], len(found)), kind="stable")]
        together = np.zeros(len(nodes), np.int64)
        outermost = nodes[prefix_tree.outermost_among(nodes, together, shape.end)]
        return cls(named, samples, borne, functions, nodes, outermost, Ends(samples))

    def callers(self) -> "CallRows":
        """Their callers: a row for each function; 0 stands for stacks that begin with the functions."""
        shape = self.samples.shape
        return CallRows(self, self.nodes, shape.function[shape.parent[self.nodes]])

    def callees(self) -> "CallRows":
        """Their callees: a row for each function."""
        shape = self.samples.shape
        there = np.zeros(len(shape), np.bool_)
        there[self.nodes] = True
        called = np.flatnonzero(there[shape.parent[1:]]) + 1
        return CallRows(self, called, shape.function[called])

    def together(self) -> "CallRows":
        """All occurrences as one row."""
        return CallRows(self, self.nodes, np.zeros(len(self.nodes), np.int64))

    def callers_tree(self, most: int) -> FrameTree:
        """The tree of callers of the outermost occurrences: inverted stacks below a root that stands for the functions.

        Nodes are made as in `from_callees`. Self is that of stacks that begin at the node.
        """
        if not len(self.functions):
            return _NOTHING
        borne, root = self.borne, int(self.functions[0])
        ends = np.zeros(len(borne.own), np.bool_)
        ends[self.outermost] = True
        own, weight = np.where(ends, borne.total, 0), np.where(ends, borne.total_weight, 0.0)
        function = self.samples.shape.function.copy()
        function[self.outermost] = root
        turned = replace(borne, shape=replace(borne.shape, function=function), own=own, own_weight=weight)
        found = from_callees(turned, most, (root,))
        return _NOTHING if found is None else found

    def callees_tree(self, most: int) -> FrameTree:
        """The tree of callees below the outermost occurrences, merged below a root that stands for the functions.

        Few more nodes than the `most` heaviest are made: nodes below a lighter one are skipped.
        """
        if not len(self.functions):
            return _NOTHING
        borne, shape = self.borne, self.samples.shape
        first, end = self.outermost, shape.end[self.outermost]
        nodes = ranges(first, end)
        level = shape.depth[nodes] - np.repeat(shape.depth[first], end - first)
        order = sorting(level)
        nodes, level = nodes[order], level[order]
        bounds = [*group_starts(level).tolist(), len(nodes)]
        number = np.full(len(shape), -1, np.int64)  # place of each node in the tree; -1: skipped
        number[first] = 0
        made = [
            _level(
                borne, nodes[: bounds[1]], np.zeros(bounds[1], np.int64), np.full(1, -1), self.functions[:1]
            )
        ]
        weights, count = made[0].total_weight, 1
        for depth, (low, high) in enumerate(itertools.pairwise(bounds[1:]), 1):
            here = nodes[low:high]
            above = number[shape.parent[here]]
            bound = np.partition(weights, count - most)[count - most] if count > most else 0.0
            looked = (above >= 0) & (weights[above] > bound)
            here, above = here[looked], above[looked]
            if not len(here):
                break
            keys, which = np.unique((above << 32) | shape.function[here], return_inverse=True)
            number[here] = count + which
            made.append(_level(borne, here, which, keys >> 32, keys & 0xFFFFFFFF, depth))
            weights, count = np.concatenate((weights, made[-1].total_weight)), count + len(keys)
        return FrameTree(*(np.concatenate([getattr(part, name) for part in made]) for name in COLUMNS))


def _level(  # noqa: PLR0917 - the columns of a tree
    borne: Borne, nodes: Int64, which: Int64, parent: Int64, function: Int64, depth: int = 0
) -> FrameTree:
    """The nodes of one depth of a merged tree; `which` maps each node of the shape to a node of the tree."""
    size = len(parent)
    return FrameTree(
        parent,
        np.full(size, depth),
        function,
        sum_at(which, borne.total[nodes], size),
        sum_at(which, borne.own[nodes], size),
        weight_at(which, borne.total_weight[nodes], size),
        weight_at(which, borne.own_weight[nodes], size),
    )


_NOTHING = FrameTree(
    np.full(1, -1),
    np.zeros(1, np.int64),
    np.zeros(1, np.int64),
    np.zeros(1, np.int64),
    np.zeros(1, np.int64),
    np.zeros(1),
    np.zeros(1),
)


class Ends:
    """Facts sorted by the node that their stack ends in; sorted once for all rows."""

    def __init__(self, samples: Samples) -> None:
        """Sorts on first use."""
        self._samples = samples

    @cached_property
    def below(self) -> Int64:
        """Where facts at or below node i begin; they end at `below[end[i]]`."""
        return self._order[1]

    @cached_property
    def visit(self) -> Int64:
        """Visit of each fact."""
        return self._samples.seen.visit[self._order[0]]

    @cached_property
    def units(self) -> Int64:
        """Units of each fact."""
        return self._samples.seen.units[self._order[0]]

    @cached_property
    def samples_before(self) -> Int64:
        """Cumulated samples: those of all facts before each, and finally of all facts."""
        return np.concatenate(([0], np.cumsum(self._samples.seen.samples[self._order[0]])))

    @cached_property
    def _order(self) -> tuple[Int64, Int64]:
        return self._samples.shape.by_node(self._samples.seen.leaf)


class CallRows:
    """One row for each function on the other side of a call, with the interface of `table_rows.Rows`.

    Self counts samples whose innermost frame is the callee of the call, total samples with the call anywhere.
    """

    def __init__(self, of: "Occurrences", callees: Int64, other: Int64) -> None:
        """`callees` are the called nodes, ascending; `other` is the function whose row each of them counts for."""
        samples, borne = of.samples, of.borne
        self._named = of.named
        self._ends = of.ends
        self._samples = samples
        self._nodes = callees
        functions, row = distinct(other)
        once = prefix_tree.outermost_among(callees, row, samples.shape.end)
        outer, outer_row = callees[once], row[once]
        size = len(functions)
        total = sum_at(outer_row, borne.total[outer], size)
        present = np.flatnonzero(total)
        self.functions = functions[present]
        place = np.full(size, -1, np.int64)
        place[present] = np.arange(len(present))
        self._row, self._outer, self._outer_row = place[row], outer, place[outer_row]
        self.total = total[present]
        self.own = sum_at(row, borne.own[callees], size)[present]
        self.own_weight = weight_at(row, borne.own_weight[callees], size)[present]
        self.total_weight = weight_at(outer_row, borne.total_weight[outer], size)[present]

    def key(self, place: int) -> dict[str, str]:
        """The function's names; empty for a stack's beginning and for several functions as one row."""
        return function_key(self._named.row(int(self.functions[place]))) if self.functions[place] else {}

    def function_id(self, place: int) -> int | None:
        """The function."""
        return int(self.functions[place]) or None

    def details(self, places: Int64) -> Details:
        """Details of some rows, in their order; merged samples have no details of calls."""
        evidence = self._samples.evidence
        if not isinstance(evidence, Visits):
            unknown = [None] * len(places)
            return Details(
                self_samples=unknown,
                total_samples=unknown,
                visits=unknown,
                machines=unknown,
                own=None,
                total=None,
            )
        return evidence.details(self.contributions(places), None)

    def contributions(self, places: Int64, *, totals: bool = True) -> Contributions:  # noqa: ARG002 - calls have both
        """The units of each visit in some rows, in their order."""
        samples, size = self._samples, len(places)
        shape, seen, visits = samples.shape, samples.seen, len(samples.evidence)
        row_of = np.full(len(self.functions) + 1, -1, np.int64)
        row_of[places] = np.arange(size)
        at_node = np.full(len(shape), -1, np.int64)
        at_node[self._nodes] = row_of[self._row]
        own_row = at_node[seen.leaf]
        there = own_row >= 0
        own = visit_totals.of_pairs(own_row, seen.visit, seen.units, rows=size, visits=visits)
        row = row_of[self._outer_row]
        order = sorting(row + 1)
        nodes = self._outer[order][row[order] >= 0]
        first = np.searchsorted(np.sort(row[row >= 0]), np.arange(size + 1))
        ends = self._ends
        low, high = ends.below[nodes], ends.below[shape.end[nodes]]
        in_slices = np.concatenate(([0], np.cumsum(ends.samples_before[high] - ends.samples_before[low])))
        total = visit_totals.of_slices(first, low, high, ends.visit, ends.units, visits=visits)
        return Contributions(
            sum_at(own_row[there], seen.samples[there], size),
            in_slices[first[1:]] - in_slices[first[:-1]],
            own,
            total,
        )
