"""Flame graphs and call graphs of a store against counting its facts one by one."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
import pytest
from sqlalchemy import Engine

from storage.errors import BadSelection
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.call_graph import CallGraphQuestion
from storage.query.shapes.flame import Flame, FlameQuestion
from storage.query.shapes.flame_diff import FlameDiffQuestion
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


def test_both_ways_round_the_tree_is_that_of_the_facts(fleet: CountedFleet, queries: QueryEngine):
    for step in (1, -1):
        answer = queries.ask(FlameQuestion(WHOLE, inverted=step < 0))
        assert paths(answer.flame) == fleet.totals(partial(turned, step))
        assert answer.totals.estimate is not None
        conserves(answer.flame, answer.totals.estimate.value)
        assert answer.flame.pruned_nodes == 0


def test_below_a_node_stands_what_was_cut_off(fleet: CountedFleet, queries: QueryEngine):
    small = queries.ask(FlameQuestion(WHOLE, nodes=4)).flame
    assert small.pruned_nodes > 0
    assert small.pruned_share > 0
    heaviest = small.functions[small.function[1]]
    answer = queries.ask(FlameQuestion(WHOLE, root=(heaviest.id,)))
    assert [row.name for row in answer.path] == [heaviest.name]
    assert answer.flame.total[0] == small.total[1]
    assert answer.flame.total_weight[0] == pytest.approx(small.total_weight[1])
    inside = [fact for fact in fleet.facts if fact.stack[0] == heaviest.name]
    assert paths(answer.flame) == CountedFleet({}, inside).totals(lambda fact: fact.stack[1:])


def test_labels_are_the_first_levels(fleet: CountedFleet, queries: QueryEngine):
    answer = queries.ask(FlameQuestion(WHOLE, by=("application", "version")))

    def path(fact: Sampled) -> tuple[str, ...]:
        return (fact.labels["application"] or NO_VALUE, fact.labels["version"], *fact.stack)

    assert paths(answer.flame) == fleet.totals(path)
    assert answer.totals.estimate is not None
    conserves(answer.flame, answer.totals.estimate.value)
    labels = {row.name: label for row, label in zip(answer.flame.functions, answer.flame.labels, strict=True)}
    assert (labels["web"], labels["2"], labels["main"]) == ("application", "version", "")
    below = queries.ask(FlameQuestion(WHOLE, by=("application",), root=(fleet.functions["main"],))).flame
    inside = CountedFleet({}, [fact for fact in fleet.facts if fact.stack[0] == "main"])
    assert paths(below) == inside.totals(lambda f: (f.labels["application"] or NO_VALUE, *f.stack[1:]))


def test_light_labels_stand_together(
    fleet: CountedFleet, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("storage.query.shapes.label_groups.MOST_GROUPS", 1)
    monkeypatch.setattr("storage.query.shapes.label_groups.label_groups.__defaults__", (1,))
    flame = queries.ask(FlameQuestion(WHOLE, by=("machine",))).flame
    names = {flame.functions[f].name for f in flame.function[flame.parent == 0].tolist()}
    assert len(names) == 2
    assert "[others]" in names
    assert flame.total[0] == fleet.units()


def test_a_way_nobody_went_is_told(fleet: CountedFleet, queries: QueryEngine):
    for more in ({}, {"by": ("application",)}, {"inverted": True}):
        with pytest.raises(BadSelection, match="No stack of the selection has the path"):
            queries.ask(FlameQuestion(WHOLE, root=(2**31 - 1,), **more))
    with pytest.raises(BadSelection, match="No profile has a label"):
        queries.ask(FlameQuestion(WHOLE, by=("aplication",)))


def counted(facts: list[Sampled]) -> tuple[Counter, Counter]:
    """Units of each function's total and of each call, once per stack."""
    functions: Counter = Counter()
    calls: Counter = Counter()
    for fact in facts:
        functions.update(dict.fromkeys(set(fact.stack), fact.units))
        calls.update(dict.fromkeys(set(zip(fact.stack, fact.stack[1:], strict=False)), fact.units))
    return functions, calls


def test_the_call_graph_is_that_of_the_facts(fleet: CountedFleet, queries: QueryEngine):
    graph = queries.ask(CallGraphQuestion(WHOLE)).graph
    functions, calls = counted(fleet.facts)
    assert {node.function.name: node.total for node in graph.nodes} == functions
    names = [node.function.name for node in graph.nodes]
    assert {(names[edge.caller], names[edge.callee]): edge.units for edge in graph.edges} == calls
    assert not any(edge.residual for edge in graph.edges)
    left = graph.left_out
    assert (left.nodes, left.self_share, left.edges) == (0, 0, 0)
    for edge in graph.edges:
        assert edge.share is not None
        assert edge.share.lo <= edge.weight_share <= edge.share.hi
        assert edge.weight_share <= graph.nodes[edge.callee].total_share + 1e-12
        assert edge.weight_share <= graph.nodes[edge.caller].total_share + 1e-12


def test_nodes_have_the_figures_of_the_table(fleet: CountedFleet, queries: QueryEngine):
    rows = {row.function_id: row for row in queries.ask(TableQuestion(WHOLE)).table.rows}
    graph = queries.ask(CallGraphQuestion(WHOLE, nodes=4)).graph
    assert len(graph.nodes) == 4
    for node in graph.nodes:
        row = rows[node.function.id]
        assert (node.self, node.total, node.visits, node.machines) == (
            row.self,
            row.total,
            row.visits,
            row.machines,
        )
        assert (node.own_estimate, node.total_estimate) == (row.own_estimate, row.total_estimate)
    hidden = [row for id_, row in rows.items() if id_ not in {node.function.id for node in graph.nodes}]
    assert graph.left_out.nodes == len(hidden)
    assert graph.left_out.self_share == pytest.approx(sum(row.self_share for row in hidden))
    assert graph.left_out.heaviest_node == pytest.approx(max(row.total_share for row in hidden))
    assert any(edge.residual for edge in graph.edges)


def test_cells_say_what_chunks_say(engine: Engine):
    queries = QueryEngine(engine)
    with engine.begin() as connection:
        fleet = write_fleet(connection, START, hours=2, visits=30)
    while RollupWriter(engine).rollup().entries:
        pass
    queries.planner = BY_CELLS
    root = (fleet.functions["main"],)
    graph, inverted = CallGraphQuestion(WHOLE, nodes=4), FlameQuestion(WHOLE, inverted=True, root=root)
    cells = queries.ask(graph), queries.ask(inverted), queries.ask(FlameQuestion(WHOLE, root=root))
    assert {found.totals.path for found in cells} == {"cells"}
    queries.planner = BY_VISITS
    chunks = queries.ask(graph), queries.ask(inverted), queries.ask(FlameQuestion(WHOLE, root=root))
    assert {found.totals.path for found in chunks} == {"chunks"}
    for found, expected in zip(cells[0].graph.nodes, chunks[0].graph.nodes, strict=True):
        assert (found.function, found.self, found.total) == (expected.function, expected.self, expected.total)
        assert found.total_estimate is not None
        assert expected.total_estimate is not None
        assert found.total_estimate.share.lo == pytest.approx(expected.total_estimate.share.lo)
    for edge, other in zip(cells[0].graph.edges, chunks[0].graph.edges, strict=True):
        assert (edge.caller, edge.callee, edge.units, edge.residual) == (
            other.caller, other.callee, other.units, other.residual,
        )  # fmt: skip
        assert edge.share is not None
        assert other.share is not None
        assert (edge.share.lo, edge.share.hi) == pytest.approx((other.share.lo, other.share.hi))
    for tree, same in zip(cells[1:], chunks[1:], strict=True):
        assert paths(tree.flame) == paths(same.flame)
        assert tree.flame.total_weight == pytest.approx(same.flame.total_weight)
    queries.close()


def test_two_trees_are_one_by_both_sides_facts(fleet: CountedFleet, queries: QueryEngine):
    first, second = (Selection(START + timedelta(hours=n), START + timedelta(hours=n + 1)) for n in (0, 1))
    flame = queries.ask(FlameDiffQuestion(second, first)).flame
    ways: list[tuple[str, ...]] = []
    for node, parent in enumerate(flame.parent.tolist()):
        ways.append(() if parent < 0 else (*ways[parent], flame.functions[flame.function[node]].name))
    for side, selection in ((flame.now, second), (flame.base, first)):
        alone = queries.ask(FlameQuestion(selection)).flame
        expected = dict.fromkeys(ways, 0.0)
        names: list[tuple[str, ...]] = []
        for node, parent in enumerate(alone.parent.tolist()):
            names.append(() if parent < 0 else (*names[parent], alone.functions[alone.function[node]].name))
            expected[names[node]] += float(alone.total_weight[node])
        assert dict(zip(ways, side.total.tolist(), strict=True)) == pytest.approx(expected)
    inside = [fact for fact in fleet.facts if fact.drawn_at >= second.start]
    assert len(ways) == len({fact.stack[:n] for fact in fleet.facts for n in range(len(fact.stack) + 1)})
    assert (flame.now.total > 0).sum() == len({f.stack[:n] for f in inside for n in range(len(f.stack) + 1)})


def test_time_without_samples_has_a_root_and_nothing_else(fleet: CountedFleet, queries: QueryEngine):
    empty = Selection(START - timedelta(days=2), START - timedelta(days=1))
    graph = queries.ask(CallGraphQuestion(empty)).graph
    assert (graph.nodes, graph.edges) == ((), ())
    for more in ({}, {"inverted": True}, {"by": ("application",)}):
        assert queries.ask(FlameQuestion(empty, **more)).flame.total.tolist() == [0]
