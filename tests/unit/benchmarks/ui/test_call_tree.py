"""The files of one tree for the three programs say the same."""

import json
from typing import Any

from benchmarks.ui.call_tree import CallTree, grow
from tests.flame_columns import decode

TREE = grow(3_000, seed=4)


def stacks_of_columns(tree: CallTree) -> list[tuple[tuple[str, ...], int]]:
    """The names from the root to each node, and its self."""
    paths: list[tuple[str, ...]] = []
    for parent, function in zip(tree.parent, tree.function, strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), tree.names[function]))
    return list(zip(paths, tree.self_, strict=True))


def test_the_tree_has_the_size_and_callees_in_descending_order():
    assert len(TREE) >= 3_000
    assert TREE.parent[0] == -1
    assert min(TREE.self_) >= 0
    assert sum(TREE.self_) == TREE.total[0]
    latest: dict[int, int] = {}
    for node, parent in enumerate(TREE.parent[1:], 1):
        assert parent < node
        assert TREE.total[node] <= latest.get(parent, TREE.total[parent])
        latest[parent] = TREE.total[node]


def test_nested_objects_have_the_stacks():
    found: list[tuple[tuple[str, ...], int]] = []

    def visit(node: dict[str, Any], callers: tuple[str, ...]) -> None:
        path = (*callers, node["name"])
        own = node["value"] - sum(callee["value"] for callee in node["children"])
        found.append((path, own))
        for callee in node["children"]:
            visit(callee, path)

    visit(json.loads(TREE.nested()), ())
    assert found == stacks_of_columns(TREE)


def test_events_have_the_stacks():
    document = json.loads(TREE.evented())
    names = [frame["name"] for frame in document["shared"]["frames"]]
    found: dict[tuple[str, ...], int] = {}
    path: list[str] = []
    now = 0
    for event in document["profiles"][0]["events"]:
        if path:
            found[tuple(path)] = found.get(tuple(path), 0) + event["at"] - now
        now = event["at"]
        if event["type"] == "O":
            path.append(names[event["frame"]])
        else:
            assert path.pop() == names[event["frame"]]
    assert found == dict(stacks_of_columns(TREE))


def test_columns_have_the_nodes():
    _, nodes = decode(TREE.columns())
    assert [parent for _, _, parent, _ in nodes] == TREE.parent
    assert [function for _, _, _, function in nodes] == TREE.function
    assert [round(own * 1e9) for _, own, _, _ in nodes] == TREE.self_
