"""A flame graph as a file of the stacks that it shows, cut at the same nodes.

The part cut off below a node is a frame `[cut off]` there, so that totals stay equal. If the tree begins at a node, the
functions above that node precede every stack.
"""

from collections.abc import Sequence

import numpy as np

from services.api.formats.stack_profile import StackProfile, Value, Values, estimates, remarks, span
from storage.arrays import Int64
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.selections.selection import Selection
from storage.query.shapes.flame import FlameTree
from storage.query.shapes.flame_nodes import Flame
from storage.query.shapes.stack_table import Counts, StackTable
from storage.query.stacks.definitions import UNKNOWN
from storage.query.stacks.function_names import NO_FUNCTION, FunctionRow

CUT_OFF = FunctionRow(0, "[cut off]", "", "", Status.FULL, Kind.MARKER)


def flame_profile(selection: Selection, found: FlameTree, *, source: str) -> StackProfile:
    """The profile of a tree of calls: observed units and, with a random design, the fleet's."""
    table = flame_stacks(found.flame, found.path)
    values = [Values(Value.OBSERVED, found.kind.event, found.kind.unit, table.units, 0)]
    if found.totals.design == "random":
        values.append(estimates(found.kind, table))
    start, duration = span(selection, found.totals)
    return StackProfile(
        table=table,
        values=tuple(values),
        event=found.kind.event,
        unit=found.kind.unit,
        period=0,
        start_ns=start,
        duration_ns=duration,
        comments=(source, *remarks(found.kind, found.totals, table, values[-1].name)),
        build_ids={},
    )


def flame_stacks(flame: Flame, path: Sequence[FunctionRow]) -> StackTable:
    """The stacks of all nodes with self units of their own or with cut-off units below them."""
    above = len(path)
    nodes = len(flame.total) + above
    parent = np.arange(-1, nodes - 1)  # the root, then the path, which ends at the tree's own root
    parent[above + 1 :] = flame.parent[1:] + above
    rows: list[FunctionRow] = [NO_FUNCTION, *path, *flame.functions, CUT_OFF]
    function = np.arange(nodes)
    function[above + 1 :] = flame.function[1:] + above + 1
    units, weight = _on_nodes(flame.self, above), _on_nodes(flame.self_weight, above)
    below = flame.total - flame.self
    np.subtract.at(below, flame.parent[1:], flame.total[1:])
    cut, cut_weight = _on_nodes(below, above), _on_nodes(flame.pruned_weight, above)
    # Each cut-off part gets its own node, the first below its parent.
    of = np.flatnonzero(cut)
    number = np.arange(nodes) + np.searchsorted(of, np.arange(nodes))
    size = nodes + len(of)
    at_cut = number[of] + 1
    parents, functions = np.empty(size, np.int64), np.empty(size, np.int64)
    parents[number], functions[number] = np.where(parent < 0, -1, number[parent]), function
    parents[at_cut], functions[at_cut] = number[of], len(rows) - 1
    all_units, all_weight = np.zeros(size, np.int64), np.zeros(size)
    all_units[number], all_weight[number] = units, weight
    all_units[at_cut], all_weight[at_cut] = cut[of], cut_weight[of]
    used, compact = np.unique(functions, return_inverse=True)
    leaf = np.flatnonzero(all_units)
    return StackTable(
        parent=parents,
        function=compact,
        depth=_depths(parents),
        functions=tuple(rows[place] for place in used.tolist()),
        definitions=(UNKNOWN,) * len(used),
        labels=(),
        groups=((),),
        leaf=leaf,
        group=np.zeros(len(leaf), np.int64),
        samples=all_units[leaf],
        units=all_units[leaf],
        weight=all_weight[leaf],
        remainder=Counts(0, 0, 0, 0.0),
    )


def _on_nodes(column: np.ndarray, above: int) -> np.ndarray:
    return np.concatenate((np.zeros(above, column.dtype), column))


def _depths(parent: Int64) -> Int64:
    depths = [0] * len(parent)
    for node, of in enumerate(parent.tolist()):
        depths[node] = depths[of] + 1 if of >= 0 else 0
    return np.array(depths, np.int64)
