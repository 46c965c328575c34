"""The tree of two selections' stacks, against counting by hand."""

from hypothesis import given
from hypothesis import strategies as st

from storage.query.shapes.diff_stacks import together
from storage.query.stacks.stack_tree import Shape
from tests.random_stacks import planted, stacks


def path(shape: Shape, node: int) -> tuple[int, ...]:
    found: list[int] = []
    while node:
        found.append(int(shape.function[node]))
        node = int(shape.parent[node])
    return tuple(found[::-1])


@given(st.lists(stacks | st.just([]), min_size=2, max_size=2))
def test_every_stack_of_both_ends_where_it_should(sides: list) -> None:
    one, other = (planted(facts).shape for facts in sides)
    both = together(one, other)
    facts = [stack for side in sides for stack, *_ in side]
    assert [path(both, leaf) for leaf in both.leaf.tolist()] == facts
    nodes = [path(both, node) for node in range(len(both))]
    assert len(set(nodes)) == len(nodes), "the same way of functions is one node"
    assert both.depth.tolist() == [len(way) for way in nodes]
    below = [sum(other[: len(way)] == way for other in nodes) for way in nodes]
    assert (both.end - range(len(both))).tolist() == below, "what is below a node stands right behind it"
