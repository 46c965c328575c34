"""The stacks of a page as a selection shows them: with current names, after its frame filters."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from storage.arrays import Int64, ranges
from storage.errors import CorruptChunk
from storage.query.selections.selection import Selection
from storage.query.stack_filter import filter_stacks
from storage.query.stacks.function_names import Functions
from storage.query.stacks.prefix_tree import ROOT
from storage.query.stacks.stack_tree import Shape, Stacks, built
from storage.snapshots.stack_reading import read_stacks

_MOST_BYTES = 512 << 20
"""Limit for the stacks of one page; a page of the usual size has some hundred kilobytes."""


@dataclass(frozen=True, slots=True)
class ShownStacks:
    """Shown stacks by stored stack id."""

    ids: Int64
    """Ascending."""
    shown: Int64
    """Index of the shown stack for each id; -1: none."""
    functions: Int64
    """Functions of all stacks, one stack after the other, outermost first."""
    starts: Int64
    lengths: Int64

    def places(self, ids: Int64) -> Int64:
        """Indexes of the shown stacks for these ids. Raises `CorruptChunk` for an id without a stored stack."""
        place = np.searchsorted(self.ids, ids)
        if len(ids) and (
            not len(self.ids) or int(place.max()) == len(self.ids) or (self.ids[place] != ids).any()
        ):
            raise CorruptChunk("one of its stacks is not in the dictionary")
        return self.shown[place]

    def leaf_first(self, places: Int64) -> tuple[Int64, Int64]:
        """Functions of shown stacks, leaf first, and the number of functions per stack."""
        lengths = self.lengths[places]
        ends = self.starts[places] + lengths
        within = ranges(np.zeros(len(places), np.int64), lengths)
        return self.functions[np.repeat(ends, lengths) - 1 - within], lengths


def read_shown(connection: Connection, ids: Int64, functions: Functions, selection: Selection) -> ShownStacks:
    """Read these stacks; missing ids are left out, and id 0 means none."""
    wanted = np.unique(ids)
    found, flat, lengths = read_stacks(connection, wanted[wanted > 0], limit=_MOST_BYTES)
    used = np.unique(flat).astype(np.int64)
    functions.load(connection, used)
    functions.look_again(connection, np.unique(functions.canonical(used)))
    named = functions.canonical(flat)
    if selection.filters_stacks and len(found):
        return _filtered(Stacks(found, named.astype(np.int32), lengths), functions, selection)
    order = np.argsort(found, kind="stable")
    starts = np.cumsum(lengths) - lengths
    return ShownStacks(found[order], np.arange(len(found)), named, starts[order], lengths[order])


def _filtered(stacks: Stacks, functions: Functions, selection: Selection) -> ShownStacks:
    """Apply the filters of tables and flame graphs."""
    ids = np.sort(stacks.ids)
    shape = built(stacks).shape(ids)
    left = filter_stacks(functions, shape, selection)
    leaves, which = np.unique(left.shape.leaf[left.keep], return_inverse=True)
    shown = np.full(len(ids), -1, np.int64)
    shown[left.keep] = which
    flat, lengths = _paths(left.shape, leaves)
    return ShownStacks(ids, shown, flat, np.cumsum(lengths) - lengths, lengths)


def _paths(shape: Shape, leaves: Int64) -> tuple[Int64, Int64]:
    """The functions from the root to each node, one path after the other, and the path lengths."""
    lengths = shape.depth[leaves].astype(np.int64)
    flat = np.empty(int(lengths.sum()), np.int64)
    last = np.cumsum(lengths) - 1
    nodes, rows = leaves.astype(np.int64), np.arange(len(leaves))
    back = 0
    while len(rows := rows[nodes != ROOT]):
        nodes = nodes[nodes != ROOT]
        flat[last[rows] - back] = shape.function[nodes]
        nodes, back = shape.parent[nodes].astype(np.int64), back + 1
    return flat, lengths
