"""Cutting a tree: the heaviest nodes stay with their callers, and what is missing is stated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import BadSelection
from storage.query.selections.selection import parse_selection
from storage.query.shapes import flame_nodes
from storage.query.shapes.flame import FlameQuestion
from storage.query.shapes.flame_nodes import Flame, Labelled, cut
from storage.query.shapes.frame_tree import Borne, from_callees, from_root
from storage.query.stacks.function_names import FunctionRow
from tests.random_stacks import Stack, planted, stacks

SELECTION = parse_selection()


class Named:
    """Functions that are called what their ids are."""

    def rows(self, ids: np.ndarray) -> list[FunctionRow]:
        return [FunctionRow(id_, str(id_), "", "", 3, 0) for id_ in ids.tolist()]


def drawn(facts: list[tuple[Stack, int, float]], most: int, min_share: float, *, inverted: bool) -> Flame:
    found = planted(facts)
    borne = Borne.of(found.shape, found.units, found.weighted)
    tree = from_callees(borne, most) if inverted else from_root(borne)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flame_nodes, "effective_sizes", lambda _samples, _weights, ids: (None,) * len(ids))
        return cut(Labelled(tree), Named(), None, borne, most=most, min_share=min_share)


@given(stacks, st.integers(1, 15), st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.booleans())
def test_what_is_cut_off_is_stated(facts, most: int, min_share: float, inverted: bool):
    whole, part = (
        drawn(facts, size, share, inverted=inverted) for size, share in ((10_000, 0.0), (most, min_share))
    )
    assert 1 <= len(part.total) <= most
    assert part.total[0] == whole.total[0] == sum(units for _, units, _ in facts)
    assert not whole.pruned_weight.any()
    assert whole.pruned_share == 0
    assert part.parent[0] == -1
    children = np.zeros(len(part.total))
    np.add.at(children, part.parent[1:], part.total_weight[1:])
    assert part.self_weight + children + part.pruned_weight == pytest.approx(part.total_weight)
    root = part.total_weight[0]
    assert float(part.pruned_weight.sum()) == pytest.approx(part.pruned_share * root)
    assert (part.total_weight >= min_share * root).all()
    fitting = np.sort(whole.total_weight[whole.total_weight >= min_share * root])[::-1][:most]
    assert np.sort(part.total_weight)[::-1] == pytest.approx(fitting if len(fitting) else [root])
    for parent in set(part.parent[1:].tolist()):
        assert (np.diff(part.total_weight[part.parent == parent]) <= 0).all(), "children by descending total"


def test_nothing_is_cut_off_whatever_the_order_of_a_sum():
    weights = [0.1 * number for number in range(1, 40)]
    facts = [((1, 2 + number), 1, weight) for number, weight in enumerate(weights)]
    assert sum(weights) != sum(reversed(weights))
    for inverted in (False, True):
        whole = drawn(facts, 10_000, 0.0, inverted=inverted)
        assert (whole.pruned_nodes, whole.pruned_share) == (0, 0.0)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"by": ("function",)}, "cannot be grouped by function"),
        ({"by": ("application", "application")}, "different labels"),
        ({"root": (0,)}, "ids above 0"),
        ({"root": (1 << 31,)}, "ids above 0"),
        ({"root": (1,) * 300}, "path of function ids"),
    ],
)
def test_what_makes_no_tree_is_refused(more: dict, said: str):
    with pytest.raises(BadSelection, match=said):
        FlameQuestion(SELECTION, **more)
