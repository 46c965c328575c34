"""Every view of the same samples, against counting with dictionaries."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.call_graph import CallGraphQuestion
from storage.query.shapes.diff import DiffQuestion
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.labels import LabelsQuestion
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.table import TableQuestion
from storage.query.stacks.files import StackFiles
from tests.fact_writer import FactWriter
from tests.integration.query_engine.asking import NOON, around_noon, rebuild, shown

pytestmark = pytest.mark.integration

NAMES = ("main", "work", "fib", "read", "memcpy", "lib+0x1")
FILES = ("a.c", "a.c", "b.c", "", "c.S", "")
BINARIES = ("prog", "prog", "prog", "libc", "libc", "lib")


@dataclass(frozen=True)
class Fact:
    machine: str
    application: str
    period: int
    stack: tuple[int, ...]
    samples: int


a_fact = st.builds(
    Fact,
    machine=st.sampled_from(["m1", "m2", "m3"]),
    application=st.sampled_from(["x", "y"]),
    period=st.sampled_from([1, 7]),
    stack=st.lists(st.integers(0, len(NAMES) - 1), min_size=1, max_size=6).map(tuple),
    samples=st.integers(1, 300),
)


def expected_rows(facts: list[Fact], key_of, leaf_only=False) -> dict[tuple, tuple[int, int, set[str]]]:
    own: Counter = Counter()
    total: Counter = Counter()
    machines: dict[tuple, set[str]] = {}
    for fact in facts:
        units = fact.samples * fact.period
        own[key_of(fact, fact.stack[-1])] += units
        for key in {key_of(fact, frame) for frame in fact.stack}:
            total[key] += units
            machines.setdefault(key, set()).add(fact.machine)
    return {key: (own[key], total[key], machines[key]) for key in total}


KEYS = {
    "function": lambda fact, f: (NAMES[f], FILES[f], BINARIES[f]),
    "file": lambda fact, f: (FILES[f],),
    "binary": lambda fact, f: (BINARIES[f],),
    "application": lambda fact, f: (fact.application,),
    "machine,binary": lambda fact, f: (fact.machine, BINARIES[f]),
    "application,function": lambda fact, f: (fact.application, NAMES[f], FILES[f], BINARIES[f]),
    "application,machine": lambda fact, f: (fact.application, fact.machine),
}


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(st.lists(a_fact, min_size=1, max_size=12), min_size=1, max_size=3),
    nodes=st.integers(1, 30),
)
def test_every_view_counts_what_a_dictionary_counts(
    engine: Engine, files: StackFiles, batches: list[list[Fact]], nodes: int
):
    campaign = f"c{datetime.now(UTC).timestamp()}"
    queries = QueryEngine(engine, files=files)
    facts: list[Fact] = []
    ids: dict[int, int] = {}
    stacks: dict[tuple[int, ...], int] = {}
    selection = around_noon(campaign=campaign)
    for number, batch in enumerate(batches):
        with engine.begin() as connection:
            write = FactWriter(connection)
            for f, (name, file, binary) in enumerate(zip(NAMES, FILES, BINARIES, strict=True)):
                if f not in ids:
                    ids[f] = write.function(name, file=file, binary=binary, status=1 if "+" in name else 3)
            for fact in batch:
                if fact.stack not in stacks:
                    stacks[fact.stack] = write.stack([ids[f] for f in fact.stack])
                write.profile(
                    write.visit(fact.machine, NOON, campaign_name=campaign),
                    {stacks[fact.stack]: fact.samples},
                    labels={"application": fact.application},
                    period=fact.period,
                )
        facts += batch
        if number == 1:
            rebuild(engine, queries, files)  # with a base, without one, and with both: all must answer alike
        whole = sum(fact.samples * fact.period for fact in facts)
        for by, key_of in KEYS.items():
            answer = queries.ask(TableQuestion(selection, tuple(by.split(",")), Page(sort=Sort.TOTAL_DESC)))
            assert answer.totals.units == whole
            assert answer.totals.samples == sum(fact.samples for fact in facts)
            assert answer.totals.machines == len({fact.machine for fact in facts})
            found = {
                tuple(v for k, v in row.key.items() if k not in {"status", "kind"}): (
                    row.self,
                    row.total,
                    row.machines,
                )
                for row in answer.rows
            }
            rows = expected_rows(facts, key_of)
            assert found == {key: (own, total, len(machines)) for key, (own, total, machines) in rows.items()}
            assert sum(row.self for row in answer.rows) == whole
            assert sum(row.self_samples for row in answer.rows) == answer.totals.samples
            page = queries.ask(TableQuestion(selection, tuple(by.split(",")), Page(limit=1, offset=1)))
            assert sum(row.self for row in page.rows) + page.remainder.self == whole
            assert len(page.rows) + page.remainder.rows == len(rows)
    check_flame(queries, selection, facts, nodes)
    check_focus(queries, selection, facts)
    check_calls(queries, selection, facts)
    check_labels(queries, selection, facts)
    check_diff(queries, campaign, facts)
    queries.close()


def check_flame(queries: QueryEngine, selection: Selection, facts: list[Fact], nodes: int) -> None:
    flame = queries.ask(FlameTreeQuestion(selection, 10_000)).flame
    totals: Counter = Counter()
    for fact in facts:
        for length in range(len(fact.stack) + 1):
            totals[tuple(NAMES[f] for f in fact.stack[:length])] += fact.samples * fact.period
    paths = flame_paths(flame)
    assert dict(zip(paths, flame.total.tolist(), strict=True)) == totals
    assert flame.self.sum() == flame.total[0] == totals[()]
    assert flame.pruned_nodes == 0
    pruned = queries.ask(FlameTreeQuestion(selection, nodes)).flame
    kept = flame_paths(pruned)
    assert len(kept) == min(nodes, len(totals))
    assert all(totals[path] == total for path, total in zip(kept, pruned.total.tolist(), strict=True))
    lightest = min(pruned.total.tolist())
    assert all(totals[path] <= lightest for path in set(totals) - set(kept))
    assert pruned.pruned_nodes == len(totals) - len(kept)
    assert pruned.pruned_share == pytest.approx(1 - pruned.self.sum() / totals[()])
    for index in range(len(kept)):
        children = [totals[kept[i]] for i in range(len(kept)) if pruned.parent[i] == index]
        assert children == sorted(children, reverse=True)
        assert index == 0 or pruned.parent[index] < index


def check_calls(queries: QueryEngine, selection: Selection, facts: list[Fact]) -> None:
    """A call counts a stack once, however often it stands in it."""
    graph = queries.ask(CallGraphQuestion(selection))
    rows = expected_rows(facts, lambda _, f: (NAMES[f],))
    assert {(node.name,): (node.self, node.total) for node in graph.nodes} == {
        key: (own, total) for key, (own, total, _) in rows.items()
    }
    calls: Counter = Counter()
    for fact in facts:
        for pair in set(pairwise(fact.stack)):
            calls[pair] += fact.samples * fact.period
    names = [node.name for node in graph.nodes]
    found = {(names[edge.caller], names[edge.callee]): edge.units for edge in graph.edges}
    assert found == {(NAMES[a], NAMES[b]): units for (a, b), units in calls.items()}
    assert not any(edge.residual for edge in graph.edges)


def check_labels(queries: QueryEngine, selection: Selection, facts: list[Fact]) -> None:
    found = {
        label.name: {value.value: value.seconds for value in label.values}
        for label in queries.ask(LabelsQuestion(selection)).labels
    }
    for name in ("application", "machine"):
        units: Counter = Counter()
        for fact in facts:
            units[getattr(fact, name)] += fact.samples * fact.period
        assert found[name] == {value: of_value * 1e-9 for value, of_value in units.items()}


def check_diff(queries: QueryEngine, campaign: str, facts: list[Fact]) -> None:
    """One application against the other, if there are both."""
    sides = [[fact for fact in facts if fact.application == name] for name in ("x", "y")]
    if not all(sides):
        return
    x, y = (around_noon(campaign=campaign, select=f'{{application="{name}"}}') for name in ("x", "y"))
    key_of = KEYS["function"]
    for own in (False, True):
        shares = []
        for side in sides:
            whole = sum(fact.samples * fact.period for fact in side)
            rows = expected_rows(side, key_of)
            shares.append({key: row[0 if own else 1] / whole for key, row in rows.items()})
        wanted = {key: tuple(side.get(key, 0.0) for side in shares) for key in {*shares[0], *shares[1]}}
        found = {
            tuple(v for k, v in row.key.items() if k not in {"status", "kind"}): (row.a_share, row.b_share)
            for row in queries.ask(DiffQuestion(x, y, own=own)).rows
        }
        # Of its own time a function may have none: such a row says nothing, and need not be there.
        assert {key: pytest.approx(pair) for key, pair in wanted.items() if any(pair)} == {
            key: pair for key, pair in found.items() if any(pair)
        }


def flame_paths(flame) -> list[tuple[str, ...]]:
    paths: list[tuple[str, ...]] = []
    for parent, function in zip(flame.parent.tolist(), flame.function.tolist(), strict=True):
        paths.append(() if parent < 0 else (*paths[parent], flame.functions[function].name))
    return paths


def check_focus(queries: QueryEngine, selection: Selection, facts: list[Fact]) -> None:
    narrowed = around_noon(campaign=selection.campaign, focus="^fib$", ignore="mem.*|read")
    kept = [
        fact
        for fact in facts
        if "fib" in {NAMES[f] for f in fact.stack} and not {"memcpy", "read"} & {NAMES[f] for f in fact.stack}
    ]
    units = sum(fact.samples * fact.period for fact in kept)
    answer = queries.ask(TableQuestion(narrowed, ("function",), Page()))
    assert answer.totals.units == units
    assert answer.totals.kept == pytest.approx(units / sum(fact.samples * fact.period for fact in facts))
    expected = {key: row[:2] for key, row in expected_rows(kept, KEYS["function"]).items()}
    assert shown(answer) == expected
    assert queries.ask(FlameTreeQuestion(narrowed, 10_000)).flame.total[0] == units
    assert next(islice(queries.ask(FlameTreeQuestion(narrowed, 10_000)).flame.total.tolist(), 1)) == units
