"""A recording's stacks as the tree of its flame graph: nodes in preorder, the heaviest callee first. Pure."""

from dataclasses import dataclass

import numpy as np

from services.api.formats.stack_profile import StackProfile, Value
from storage.arrays import Int64, sum_at
from storage.query.shapes.stack_table import StackTable


@dataclass(frozen=True, slots=True)
class FlameColumns:
    """Columns over the nodes; node 0 is the root, whose parent and function are -1.

    `function` counts the profile's functions after its root and then `processes`, the first level if there are several.
    """

    parent: list[int]
    function: list[int]
    total: list[int]
    self: list[int]
    processes: tuple[str, ...]


def flame_columns(profile: StackProfile) -> FlameColumns:
    """The tree of observed units, below one node for each process if there are several."""
    table, units = profile.table, profile.of(Value.OBSERVED).of_row
    several = len(table.groups) > 1
    found = FlameColumns(
        [-1], [-1], [int(units.sum())], [0], tuple(g[0] for g in table.groups) if several else ()
    )
    sums = []
    for group in range(len(table.groups)):
        its = table.group == group
        own = sum_at(table.leaf[its], units[its], len(table.parent))
        sums.append((own, node_totals(table.parent, own)))
    # The root of each process' tree; without processes there is one tree, whose root is node 0.
    for group in sorted(range(len(sums)), key=lambda g: -int(sums[g][1][0])):
        own, total = sums[group]
        top = 0
        if several:
            top = len(found.parent)
            _add(found, 0, len(table.functions) - 1 + group, int(total[0]), int(own[0]))
        else:
            found.self[0] = int(own[0])
        _add_below(found, top, table, own, total)
    return found


def node_totals(parent: Int64, own: Int64) -> Int64:
    """By node, the sum of its own units and of all nodes below it; parents precede their children."""
    total = own.tolist()
    above = parent.tolist()
    for node in range(len(total) - 1, 0, -1):
        total[above[node]] += total[node]
    return np.array(total, np.int64)


def _add(found: FlameColumns, parent: int, function: int, total: int, own: int) -> None:
    found.parent.append(parent)
    found.function.append(function)
    found.total.append(total)
    found.self.append(own)


def _add_below(found: FlameColumns, top: int, table: StackTable, own: Int64, total: Int64) -> None:
    """Add the nodes below a tree's root with units, depth first; `top` is the root's number in `found`."""
    used = np.flatnonzero(total[1:]) + 1
    children: dict[int, list[int]] = {}
    for node in used[np.argsort(total[used], kind="stable")].tolist():  # the heaviest last: popped first
        children.setdefault(int(table.parent[node]), []).append(node)
    waiting = [(node, top) for node in children.get(0, ())]
    while waiting:
        node, above = waiting.pop()
        number = len(found.parent)
        _add(found, above, int(table.function[node]) - 1, int(total[node]), int(own[node]))
        waiting += [(child, number) for child in children.get(node, ())]
