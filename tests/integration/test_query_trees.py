"""Flame graphs and call graphs of a store against counting its facts one by one."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
import pytest
from sqlalchemy import Engine

from storage.errors import BadSelection
from storage.query.answers.call_graph import GraphNode
from storage.query.answers.functions import NamedFunction
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.call_graph import CallGraphQuestion
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.flame_diff import FlameDiffQuestion
from storage.query.shapes.flame_nodes import Flame
from storage.query.shapes.label_groups import NO_VALUE
from storage.query.shapes.table import TableQuestion
from storage.rollup.apply_queue import RollupWriter
from tests.access_paths import BY_CELLS, BY_VISITS
from tests.brute_force_fleet import CountedFleet, Sampled, write_fleet

pytestmark = pytest.mark.integration

START = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
WHOLE = Selection(START, START + timedelta(hours=2))


@pytest.fixture(scope="module")
def fleet(module_engine: Engine) -> CountedFleet:
    with module_engine.begin() as connection:
        return write_fleet(connection, START, hours=2, visits=60)


@pytest.fixture(scope="module")
def queries(module_engine: Engine):
    made = QueryEngine(module_engine)
    yield made
    made.close()


def paths(flame: Flame) -> Counter:
    """Units by the names on the way to each node."""
    found: Counter = Counter()
    ways: list[tuple[str, ...]] = []
    for node, parent in enumerate(flame.parent.tolist()):
        ways.append(() if parent < 0 else (*ways[parent], flame.functions[flame.function[node]].name))
        found[ways[node]] += int(flame.total[node])
    return found


def conserves(flame: Flame, estimate: float) -> None:
    children = np.zeros(len(flame.total))
    np.add.at(children, flame.parent[1:], flame.total_weight[1:])
    assert flame.self_weight + children + flame.pruned_weight == pytest.approx(flame.total_weight)
    assert flame.total_weight[0] == pytest.approx(estimate)


def turned(step: int, fact: Sampled) -> tuple[str, ...]:
    return fact.stack[::step]


@pytest.mark.slow
def test_both_ways_round_the_tree_is_that_of_the_facts(fleet: CountedFleet, queries: QueryEngine):
    for step in (1, -1):
        answer = queries.ask(FlameTreeQuestion(WHOLE, inverted=step < 0))
        assert paths(answer.flame) == fleet.totals(partial(turned, step))
        assert answer.totals.estimate is not None
        conserves(answer.flame, answer.totals.estimate.value)
        assert answer.flame.pruned_nodes == 0


def test_below_a_node_stands_what_was_cut_off(fleet: CountedFleet, queries: QueryEngine):
    small = queries.ask(FlameTreeQuestion(WHOLE, nodes=4)).flame
    assert small.pruned_nodes > 0
    assert small.pruned_share > 0
    heaviest = small.functions[small.function[1]]
    answer = queries.ask(FlameTreeQuestion(WHOLE, root=(heaviest.id,)))
    assert [row.name for row in answer.path] == [heaviest.name]
    assert answer.flame.total[0] == small.total[1]
    assert answer.flame.total_weight[0] == pytest.approx(small.total_weight[1])
    inside = [fact for fact in fleet.facts if fact.stack[0] == heaviest.name]
    assert paths(answer.flame) == CountedFleet({}, inside).totals(lambda fact: fact.stack[1:])


def test_labels_are_the_first_levels(fleet: CountedFleet, queries: QueryEngine):
    answer = queries.ask(FlameTreeQuestion(WHOLE, by=("application", "version")))

    def path(fact: Sampled) -> tuple[str, ...]:
        return (fact.labels["application"] or NO_VALUE, fact.labels["version"], *fact.stack)

    assert paths(answer.flame) == fleet.totals(path)
    assert answer.totals.estimate is not None
    conserves(answer.flame, answer.totals.estimate.value)
    labels = {row.name: label for row, label in zip(answer.flame.functions, answer.flame.labels, strict=True)}
    assert (labels["web"], labels["2"], labels["main"]) == ("application", "version", "")
    below = queries.ask(FlameTreeQuestion(WHOLE, by=("application",), root=(fleet.functions["main"],))).flame
    inside = CountedFleet({}, [fact for fact in fleet.facts if fact.stack[0] == "main"])
    assert paths(below) == inside.totals(lambda f: (f.labels["application"] or NO_VALUE, *f.stack[1:]))


def test_light_labels_stand_together(
    fleet: CountedFleet, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("storage.query.shapes.label_groups.MOST_GROUPS", 1)
    monkeypatch.setattr("storage.query.shapes.label_groups.label_groups.__defaults__", (1,))
    flame = queries.ask(FlameTreeQuestion(WHOLE, by=("machine",))).flame
    names = {flame.functions[f].name for f in flame.function[flame.parent == 0].tolist()}
    assert len(names) == 2
    assert "[others]" in names
    assert flame.total[0] == fleet.units()


def test_a_way_nobody_went_is_told(fleet: CountedFleet, queries: QueryEngine):
    for more in ({}, {"by": ("application",)}, {"inverted": True}):
        with pytest.raises(BadSelection, match="No stack of the selection has the path"):
            queries.ask(FlameTreeQuestion(WHOLE, root=(2**31 - 1,), **more))
    with pytest.raises(BadSelection, match="No profile has a label"):
        queries.ask(FlameTreeQuestion(WHOLE, by=("aplication",)))


def counted(facts: list[Sampled]) -> tuple[Counter, Counter]:
    """Units of each function's total and of each call, once per stack."""
    functions: Counter = Counter()
    calls: Counter = Counter()
    for fact in facts:
        functions.update(dict.fromkeys(set(fact.stack), fact.units))
        calls.update(dict.fromkeys(set(zip(fact.stack, fact.stack[1:], strict=False)), fact.units))
    return functions, calls


def test_the_call_graph_is_that_of_the_facts(fleet: CountedFleet, queries: QueryEngine):
    graph = queries.ask(CallGraphQuestion(WHOLE))
    functions, calls = counted(fleet.facts)
    assert {node.name: node.total for node in graph.nodes} == functions
    names = [node.name for node in graph.nodes]
    assert {(names[edge.caller], names[edge.callee]): edge.units for edge in graph.edges} == calls
    assert not any(edge.residual for edge in graph.edges)
    left = graph.left_out
    assert (left.nodes, left.self_share, left.edges) == (0, 0, 0)
    for edge in graph.edges:
        assert edge.lo is not None
        assert edge.hi is not None
        assert edge.lo <= edge.share <= edge.hi
        assert edge.share <= graph.nodes[edge.callee].total_share + 1e-12
        assert edge.share <= graph.nodes[edge.caller].total_share + 1e-12


def test_nodes_have_the_figures_of_the_table(fleet: CountedFleet, queries: QueryEngine):
    rows = {row.function_id: row for row in queries.ask(TableQuestion(WHOLE)).rows}
    graph = queries.ask(CallGraphQuestion(WHOLE, nodes=4))
    assert len(graph.nodes) == 4
    for node in graph.nodes:
        row = rows[node.id]
        assert (node.self, node.total, node.visits, node.machines) == (
            row.self,
            row.total,
            row.visits,
            row.machines,
        )
        assert None not in {node.self_lo, node.self_hi, node.total_lo, node.total_hi}
        assert (node.self_share, node.self_lo, node.self_hi) == (row.self_share, row.self_lo, row.self_hi)
        assert (node.total_share, node.total_lo, node.total_hi) == (
            row.total_share,
            row.total_lo,
            row.total_hi,
        )
        assert node.low_confidence == row.low_confidence
    hidden = [row for id_, row in rows.items() if id_ not in {node.id for node in graph.nodes}]
    assert graph.left_out.nodes == len(hidden)
    assert graph.left_out.self_share == pytest.approx(sum(row.self_share for row in hidden))
    assert graph.left_out.heaviest_node == pytest.approx(max(row.total_share for row in hidden))
    assert any(edge.residual for edge in graph.edges)


def function_of(node: GraphNode) -> NamedFunction:
    return NamedFunction(node.id, node.name, node.file, node.binary, node.status, node.kind)


@pytest.mark.slow
def test_cells_say_what_chunks_say(engine: Engine):
    queries = QueryEngine(engine)
    with engine.begin() as connection:
        fleet = write_fleet(connection, START, hours=2, visits=30)
    while RollupWriter(engine).rollup().entries:
        pass
    queries.planner = BY_CELLS
    root = (fleet.functions["main"],)
    graph, inverted = CallGraphQuestion(WHOLE, nodes=4), FlameTreeQuestion(WHOLE, inverted=True, root=root)
    cells = queries.ask(graph), queries.ask(inverted), queries.ask(FlameTreeQuestion(WHOLE, root=root))
    assert {found.totals.path for found in cells} == {"cells"}
    queries.planner = BY_VISITS
    chunks = queries.ask(graph), queries.ask(inverted), queries.ask(FlameTreeQuestion(WHOLE, root=root))
    assert {found.totals.path for found in chunks} == {"chunks"}
    for found, expected in zip(cells[0].nodes, chunks[0].nodes, strict=True):
        assert function_of(found) == function_of(expected)
        assert (found.self, found.total) == (expected.self, expected.total)
        assert found.total_lo is not None
        assert found.total_lo == pytest.approx(expected.total_lo)
    for edge, other in zip(cells[0].edges, chunks[0].edges, strict=True):
        assert (edge.caller, edge.callee, edge.units, edge.residual) == (
            other.caller, other.callee, other.units, other.residual,
        )  # fmt: skip
        assert edge.lo is not None
        assert (edge.lo, edge.hi) == pytest.approx((other.lo, other.hi))
    for tree, same in zip(cells[1:], chunks[1:], strict=True):
        assert paths(tree.flame) == paths(same.flame)
        assert tree.flame.total_weight == pytest.approx(same.flame.total_weight)
    queries.close()


def test_two_trees_are_one_by_both_sides_facts(fleet: CountedFleet, queries: QueryEngine):
    first, second = (Selection(START + timedelta(hours=n), START + timedelta(hours=n + 1)) for n in (0, 1))
    answer = queries.ask(FlameDiffQuestion(second, first))
    nodes = answer.nodes
    ways: list[tuple[str, ...]] = []
    for node, parent in enumerate(nodes.parent):
        ways.append(() if parent < 0 else (*ways[parent], answer.functions[nodes.function[node]].name))
    for totals, selection in ((nodes.total, second), (nodes.base_total, first)):
        alone = queries.ask(FlameTreeQuestion(selection)).flame
        expected = dict.fromkeys(ways, 0.0)
        names: list[tuple[str, ...]] = []
        for node, parent in enumerate(alone.parent.tolist()):
            names.append(() if parent < 0 else (*names[parent], alone.functions[alone.function[node]].name))
            expected[names[node]] += float(alone.total_weight[node]) * 1e-9  # core-seconds
        assert dict(zip(ways, totals, strict=True)) == pytest.approx(expected)
    inside = [fact for fact in fleet.facts if fact.drawn_at >= second.start]
    assert len(ways) == len({fact.stack[:n] for fact in fleet.facts for n in range(len(fact.stack) + 1)})
    assert sum(total > 0 for total in nodes.total) == len(
        {f.stack[:n] for f in inside for n in range(len(f.stack) + 1)}
    )


def test_time_without_samples_has_a_root_and_nothing_else(fleet: CountedFleet, queries: QueryEngine):
    empty = Selection(START - timedelta(days=2), START - timedelta(days=1))
    graph = queries.ask(CallGraphQuestion(empty))
    assert (graph.nodes, graph.edges) == ((), ())
    for more in ({}, {"inverted": True}, {"by": ("application",)}):
        assert queries.ask(FlameTreeQuestion(empty, **more)).flame.total.tolist() == [0]
