"""Small random stacks as hypothesis draws them, and their tree: what shapes of answers are tested on by counting."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from storage.query.stacks import prefix_tree
from storage.query.stacks.stack_tree import Shape

Stack = tuple[int, ...]
"""Function ids ≥ 1, outermost first."""

few_functions = st.lists(st.integers(1, 4), max_size=6).map(tuple)
stacks = st.lists(
    st.tuples(few_functions, st.integers(0, 9), st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=12
)
"""(stack, units, units of the fleet for each); a stack may come twice."""


@dataclass(frozen=True)
class Facts:
    """Facts hung onto the tree of their stacks."""

    shape: Shape
    units: np.ndarray
    weighted: np.ndarray


def planted(facts: Sequence[tuple[Stack, int, float]]) -> Facts:
    """The tree of these stacks, a leaf for each."""
    frames = np.array([function for stack, _, _ in facts for function in stack], np.int32)
    lengths = np.array([len(stack) for stack, _, _ in facts], np.int64)
    tree, leaf = prefix_tree.build(frames, lengths)
    wide = [column.astype(np.int64) for column in (tree.parent, tree.function, tree.end, tree.depth)]
    units = np.array([units for _, units, _ in facts], np.int64)
    weights = np.array([weight for _, _, weight in facts])
    return Facts(Shape(*wide, tree.outermost, leaf.astype(np.int64)), units, units * weights)
