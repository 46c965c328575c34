"""Two trees as one against counting both sides' stacks."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.query.shapes.flame_diff import FlameDiff, together
from storage.query.shapes.frame_tree import Borne, FrameTree, from_root
from storage.query.stacks.function_names import FunctionRow
from tests.random_stacks import Stack, planted, stacks

Facts = list[tuple[Stack, int, float]]


class Named:
    """Functions that are called what their ids are."""

    def row(self, id_: int) -> FunctionRow:
        return FunctionRow(id_, str(id_), "", "", 3, 0)


def tree(facts: Facts) -> FrameTree:
    found = planted(facts)
    return from_root(Borne.of(found.shape, found.units, found.weighted))


def whole(facts: Facts) -> float:
    return sum(units * weight for _, units, weight in facts)


def drawn(now: Facts, base: Facts, most: int = 10_000, min_share: float = 0.0) -> FlameDiff:
    return together(tree(now), tree(base), (whole(now), whole(base)), Named(), most=most, min_share=min_share)


def ways(flame: FlameDiff) -> list[Stack]:
    found: list[Stack] = []
    for node, parent in enumerate(flame.parent.tolist()):
        assert parent < node
        found.append(() if parent < 0 else (*found[parent], flame.functions[flame.function[node]].id))
    return found


def counted(facts: Facts) -> tuple[Counter, Counter]:
    totals: Counter = Counter()
    own: Counter = Counter()
    for stack, units, weight in facts:
        own[stack] += units * weight
        for depth in range(len(stack) + 1):
            totals[stack[:depth]] += units * weight
    return totals, own


@given(stacks, stacks)
def test_every_node_has_what_both_sides_have(now: Facts, base: Facts):
    flame = drawn(now, base)
    nodes = ways(flame)
    assert len(set(nodes)) == len(nodes)
    for side, facts in ((flame.now, now), (flame.base, base)):
        totals, own = counted(facts)
        assert side.total.tolist() == pytest.approx([totals[way] for way in nodes])
        assert side.self.tolist() == pytest.approx([own[way] for way in nodes])
        assert {way for way, units in totals.items() if units} <= set(nodes)
    if whole(now) and whole(base):
        assert flame.delta[0] == pytest.approx(0)
    assert flame.pruned_nodes == 0


@given(stacks, stacks, st.integers(1, 10), st.sampled_from([0.0, 0.3]))
def test_what_is_light_on_both_sides_goes_first(now: Facts, base: Facts, most: int, min_share: float):
    everything, part = drawn(now, base), drawn(now, base, most, min_share)
    assert 1 <= len(part.parent) <= most
    assert len(part.parent) + part.pruned_nodes == len(everything.parent)
    heaviest = np.maximum(part.now.share, part.base.share)
    left = sorted(np.maximum(everything.now.share, everything.base.share).tolist(), reverse=True)[
        len(part.parent) :
    ]
    assert part.pruned_share == pytest.approx(max(left, default=0.0))
    assert (heaviest[1:] >= min_share).all()
    assert set(ways(part)) <= set(ways(everything))


def test_a_side_without_samples_is_nothing_everywhere():
    flame = drawn([((1, 2), 3, 1.0)], [((1,), 0, 1.0)])
    assert ways(flame) == [(), (1,), (1, 2)]
    assert flame.base.share.tolist() == [0, 0, 0]
    assert flame.delta.tolist() == [1, 1, 1]
