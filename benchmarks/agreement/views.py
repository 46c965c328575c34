"""Samples of `perf` and the product's results, as shares of functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from benchmarks.agreement.names import Function
from benchmarks.agreement.shares import Shares

if TYPE_CHECKING:
    from benchmarks.agreement.names import Namer
    from benchmarks.agreement.peer import Sample
    from storage.query.answers.table import TableAnswer
    from storage.query.shapes.flame import FlameTree

_MARKERS = ("[stack: ", "[frames left out]")


def of_perf(samples: Sequence[Sample], namer: Namer, roots: Collection[Function]) -> Shares:
    """Shares according to perf. A stack is rooted if its outermost function is one of `roots`."""
    own: Counter[Function] = Counter()
    whole: Counter[Function] = Counter()
    rooted = 0
    for sample in samples:
        calls = [namer.same(call) for frame in sample.frames for call in namer.functions(frame)]
        if calls:
            own[calls[0]] += 1
            whole.update(set(calls))
            rooted += calls[-1] in roots
    return Shares(len(samples), own, whole, rooted / len(samples) if samples else 0.0)


def of_product(table: TableAnswer, flame: FlameTree, namer: Namer, period: int) -> Shares:
    """The product's shares: self from the table, totals from the flame graph, so both are checked.

    Totals come from the tree because a function may have several rows in the table, but has one here.
    """
    own: Counter[Function] = Counter()
    for row in table.rows:
        own[namer.same(Function(row.key["function"], row.key["binary"]))] += row.self_samples or 0
    return Shares(table.totals.samples, own, _totals(flame, namer, period), table.totals.complete)


def roots(flame: FlameTree, namer: Namer) -> set[Function]:
    """The outermost functions of threads."""
    tree = flame.flame
    return {
        namer.same(Function(row.name, row.binary))
        for parent, function in zip(tree.parent.tolist(), tree.function.tolist(), strict=True)
        if parent == 0 and not (row := tree.functions[function]).name.startswith(_MARKERS)
    }


def _totals(flame: FlameTree, namer: Namer, period: int) -> Counter[Function]:
    tree = flame.flame
    units: Counter[Function] = Counter()
    above: list[frozenset[Function]] = []
    for parent, function, total in zip(
        tree.parent.tolist(), tree.function.tolist(), tree.total.tolist(), strict=True
    ):
        if parent < 0:
            above.append(frozenset())
            continue
        row = tree.functions[function]
        called = namer.same(Function(row.name, row.binary))
        if called not in above[parent] and not row.name.startswith(_MARKERS):
            units[called] += total
        above.append(above[parent] | {called})
    return Counter({function: round(value / period) for function, value in units.items()})
