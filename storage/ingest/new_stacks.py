"""The stacks of several captures that the dictionary lacks, in the order in which they get their ids."""

from collections.abc import Sequence

import numpy as np

from storage.ingest.function_stacks import FunctionStacks
from storage.ingest.hash_table import Int64s
from storage.ingest.stack_rows import StackRows


def new_rows(distinct: Sequence[FunctionStacks], homes: Sequence[Int64s], asked: Int64s) -> StackRows:
    """The rows of the stacks `asked`, indexes into the distinct stacks of all captures in order.

    `homes` has for each capture, by stack, the program in which it occurred. Stacks are grouped by program, and then in
    the order in which the gateway saw them, so that a later profile's ids are close together.
    """
    first = np.cumsum([0, *(len(each.first) for each in distinct)])
    asked_of = np.argsort(asked)  # capture by capture
    bounds = np.searchsorted(asked[asked_of], first)
    homes_of, stacks, hashes, depths, functions = [], [], [], [], []
    for n, (each, home) in enumerate(zip(distinct, homes, strict=True)):
        local = asked[asked_of[bounds[n] : bounds[n + 1]]] - first[n]
        stack = each.first[local]
        depth, function = each.calls.outermost_first(stack)
        homes_of.append(home[stack])
        stacks.append(stack)
        hashes.append(each.hashes[local])
        depths.append(depth)
        functions.append(function)
    owner = np.repeat(np.arange(len(distinct)), np.diff(bounds))
    order = np.lexsort((np.concatenate(stacks), owner, np.concatenate(homes_of)))
    depth = np.concatenate(depths)
    start = (np.cumsum(depth) - depth)[order]
    ordered = depth[order]
    at = np.repeat(start - (np.cumsum(ordered) - ordered), ordered) + np.arange(int(depth.sum()))
    return StackRows(asked_of[order], np.concatenate(hashes)[order], ordered, np.concatenate(functions)[at])
