"""The distinct stacks of a selection and its base in one table, with a label for the side; for exported diffs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query.answers.totals import Totals
from storage.query.facts.visit_scan import SampleType
from storage.query.reading import Reading
from storage.query.selections.selection import Selection
from storage.query.shapes.stack_samples import MOST_STACKS
from storage.query.shapes.stack_table import Grouping, StackRows, StackTable, tabulated
from storage.query.shapes.totals import totals
from storage.query.stack_filter import merged
from storage.query.stacks.definitions import UNKNOWN, Definition
from storage.query.stacks.function_names import FunctionRow
from storage.query.stacks.prefix_tree import ROOT
from storage.query.stacks.stack_tree import Shape

BASE_LABEL = "pprof::base"
"""The label by which `go tool pprof -diff_base` marks the base's samples."""
_SIDES = (("",), ("true",))


@dataclass(frozen=True, slots=True)
class DiffStacksAnswer:
    """The stacks of both sides, and their totals."""

    kind: SampleType
    totals: Totals
    base_totals: Totals
    table: StackTable
    """Rows of group 1 are the base's. The table is complete. Values are positive on both sides."""
    build_ids: dict[str, str]
    """Hex, by name of a binary, if only one binary has that name."""


@dataclass(frozen=True, slots=True)
class DiffStacksQuestion:
    """The distinct stacks of a selection and its base, from every visit's own samples.

    The base's event is the selection's.
    """

    selection: Selection
    base: Selection

    def answer(self, reading: Reading) -> DiffStacksAnswer:
        """The stacks.

        Raises `BadSelection` (also for more than `MOST_STACKS` rows), `UnknownCampaign`, `DatabaseError`.
        """
        sides = [reading.visits(side) for side in (self.selection, self.base)]
        shape = together(sides[0].shape, sides[1].shape)
        of_fact = np.repeat(np.arange(2), [len(side.facts.units) for side in sides])
        grouping = Grouping((BASE_LABEL,), _SIDES, of_fact)
        columns = [(side.facts.samples, side.facts.units) for side in sides]
        samples, units = (np.concatenate(both) for both in zip(*columns, strict=True))
        rows = StackRows.of(
            shape, grouping, samples, units, np.concatenate([side.weighted for side in sides])
        )
        if len(rows.leaf) > MOST_STACKS:
            raise BadSelection(
                f"Both sides together have {len(rows.leaf):,} stacks; the limit of a file of a "
                f"comparison is {MOST_STACKS:,}.",
                hint="Choose a shorter time range, or export each side and use `go tool pprof -diff_base`.",
            )

        def functions(ids: Int64) -> Sequence[tuple[FunctionRow, Definition]]:
            known = reading.definitions(ids[ids > 0])
            rows = reading.functions.rows(ids)
            return [(row, known.get(row.id, UNKNOWN)) for row in rows]

        table, _ = tabulated(shape, rows, np.arange(len(rows.leaf)), grouping, functions)
        now, base = (totals(reading.functions, side) for side in sides)
        binaries = sorted({row.binary for row in table.functions if row.binary})
        return DiffStacksAnswer(sides[0].kind, now, base, table, dict(reading.build_ids(binaries)))


def together(one: Shape, other: Shape) -> Shape:
    """The union of both trees; its leaves are those of the first, then those of the second."""
    before = len(one) - 1  # both have one root

    def moved(nodes: Int64) -> Int64:
        return np.where(nodes == ROOT, ROOT, nodes + before)

    end = np.concatenate((one.end, other.end[1:] + before))
    end[ROOT] = len(one) + len(other) - 1
    both = Shape(
        parent=np.concatenate((one.parent, moved(other.parent[1:]))),
        function=np.concatenate((one.function, other.function[1:])),
        end=end,
        depth=np.concatenate((one.depth, other.depth[1:])),
        outermost=np.concatenate((one.outermost, other.outermost[1:])),
        leaf=np.concatenate((one.leaf, moved(other.leaf))),
    )
    return merged(both, np.ones(len(both), np.bool_))
