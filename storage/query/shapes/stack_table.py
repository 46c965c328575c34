"""Stacks as columns over the nodes of a tree; a stack is the node it ends in.

A selection has millions of stacks. Rows are ordered by their functions' names from the outermost on, so the same
samples give the same file whatever ids a database assigned.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from storage.arrays import Float, Int64, distinct, sorting, sum_at, weight_at
from storage.query.stacks import prefix_tree
from storage.query.stacks.definitions import Definition
from storage.query.stacks.function_names import FunctionRow
from storage.query.stacks.stack_tree import Shape

_DENSE = 1 << 24
"""Up to this size, distinct keys are found with a table of all possible keys: 9 bytes each, and no sorting."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Sums over some stacks."""

    stacks: int
    samples: int
    units: int
    weight: float
    """Units of the fleet."""


@dataclass(frozen=True, slots=True)
class StackTable:
    """Stacks as columns: `leaf` and those after it have a row for each stack and combination of labels."""

    parent: Int64
    """By node, in preorder, siblings by name; -1 for the root, node 0."""
    function: Int64
    """By node, an index into `functions`."""
    depth: Int64
    """By node: functions of the stack that ends there."""
    functions: tuple[FunctionRow, ...]
    """The first is the root's, which is not a function."""
    definitions: tuple[Definition, ...]
    """Definitions of `functions`."""
    labels: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    """Combinations of the labels' values, ascending; one empty combination without labels."""
    leaf: Int64
    """The node a stack ends in; rows ascend by it, then by group."""
    group: Int64
    """Index into `groups`."""
    samples: Int64
    units: Int64
    """Observed units."""
    weight: Float
    """Units of the fleet that `units` stand for; equal to them without a random design."""
    remainder: Counts
    """Sums of the lightest rows, which are left out."""

    def __len__(self) -> int:
        return len(self.leaf)

    @property
    def heaviest_first(self) -> Int64:
        """Places of the rows by descending weight; ties stay in order."""
        return np.argsort(-self.weight, kind="stable")

    def frames(self, place: int) -> list[int]:
        """A row's functions, outermost first, as indices into `functions`."""
        found, node = [], int(self.leaf[place])
        while node != prefix_tree.ROOT:
            found.append(int(self.function[node]))
            node = int(self.parent[node])
        return found[::-1]


@dataclass(frozen=True, slots=True)
class Grouping:
    """Facts grouped by the values of labels."""

    labels: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    """Combinations of values, ascending; at least one."""
    of_fact: Int64


@dataclass(frozen=True, slots=True)
class StackRows:
    """Sums of facts by group and by the node that their stacks end in."""

    leaf: Int64
    """Ascending; rows of one leaf ascend by group."""
    group: Int64
    samples: Int64
    units: Int64
    weight: Float
    of_fact: Int64

    @classmethod
    def of(cls, shape: Shape, grouping: Grouping, samples: Int64, units: Int64, weight: Float) -> "StackRows":
        """Computes the rows from columns over facts, one for each leaf of the shape."""
        groups = len(grouping.groups)
        key = shape.leaf if groups == 1 else shape.leaf * groups + grouping.of_fact
        found, of_fact = _numbered(key, len(shape) * groups)
        return cls(
            leaf=found // groups,
            group=found % groups,
            samples=sum_at(of_fact, samples, len(found)),
            units=sum_at(of_fact, units, len(found)),
            weight=weight_at(of_fact, weight, len(found)),
            of_fact=of_fact,
        )

    def heaviest(self, most: int) -> Int64:
        """Places of the `most` heaviest rows, ascending."""
        if len(self.leaf) <= most:
            return np.arange(len(self.leaf))
        return np.sort(np.argsort(-self.weight, kind="stable")[:most])

    def without(self, kept: Int64) -> Counts:
        """Sums of the rows that are not kept."""
        left = np.ones(len(self.leaf), np.bool_)
        left[kept] = False
        return Counts(
            int(left.sum()),
            int(self.samples[left].sum()),
            int(self.units[left].sum()),
            float(self.weight[left].sum()),
        )


def tabulated(
    shape: Shape,
    rows: StackRows,
    kept: Int64,
    grouping: Grouping,
    functions: Callable[[Int64], Sequence[tuple[FunctionRow, Definition]]],
) -> tuple[StackTable, Int64]:
    """The kept rows in the order of names, and for each of them its place in `kept`.

    `functions` describes functions by id; id 0 is the root's.
    """
    # Nodes that are on the path of a row.
    there = shape.totals(np.bincount(rows.leaf[kept], minlength=len(shape))) > 0
    there[prefix_tree.ROOT] = True
    nodes, number = np.flatnonzero(there), np.cumsum(there) - 1
    parent, depth = number[shape.parent[nodes]], shape.depth[nodes]
    parent[prefix_tree.ROOT] = -1
    used, which = distinct(shape.function[nodes])
    named = list(functions(used))
    rank, by_name = _by_name([row for row, _ in named])
    end = np.concatenate(([0], np.cumsum(there)))[shape.end[nodes]]
    position = prefix_tree.resorted(parent, end, rank[which])
    back = np.argsort(position)
    leaf = position[number[rows.leaf[kept]]]
    order = np.lexsort((rows.group[kept], leaf))
    shown = kept[order]
    table = StackTable(
        parent=np.where(parent < 0, -1, position[parent])[back],
        function=rank[which][back],
        depth=depth[back],
        functions=tuple(named[place][0] for place in by_name),
        definitions=tuple(named[place][1] for place in by_name),
        labels=grouping.labels,
        groups=grouping.groups,
        leaf=leaf[order],
        group=rows.group[shown],
        samples=rows.samples[shown],
        units=rows.units[shown],
        weight=rows.weight[shown],
        remainder=rows.without(kept),
    )
    return table, order


def _numbered(key: Int64, size: int) -> tuple[Int64, Int64]:
    """The distinct keys, ascending, and the place of each key among them."""
    if size <= _DENSE:
        return distinct(key)
    order = sorting(key)
    ordered = key[order]
    new = np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(key)]
    place = np.empty(len(key), np.int64)
    place[order] = np.cumsum(new) - 1
    return ordered[new], place


def _by_name(rows: Sequence[FunctionRow]) -> tuple[Int64, list[int]]:
    """The rank of each function by name, the root first; and the functions in that order."""
    order = sorted(
        range(len(rows)),
        key=lambda n: (rows[n].id > 0, rows[n].name, rows[n].binary, rows[n].file, rows[n].id),
    )
    rank = np.empty(len(rows), np.int64)
    rank[order] = np.arange(len(rows))
    return rank, order
