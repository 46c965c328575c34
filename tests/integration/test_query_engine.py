"""Tables, flame graphs and labels over rows in a real PostgreSQL, against counting by hand."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from storage.database import snapshot
from storage.errors import BadSelection, DatabaseBusy, UnknownCampaign
from storage.query.engine import QueryEngine
from storage.query.samples import SampleSource
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.flame import FlameQuestion
from storage.query.shapes.labels import LabelsQuestion
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.status import StatusQuestion
from storage.query.shapes.table import TableQuestion
from storage.query.stacks.functions import Functions
from storage.query.stacks.stack_tree import StackTree
from tests.facts import FactWriter

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PERIOD = 10_000_000


def around_noon(**more) -> Selection:
    return parse_selection(start="2026-11-21T11:00:00Z", end="2026-11-21T13:00:00Z", **more)


@pytest.fixture
def queries(engine: Engine):
    made = QueryEngine(engine)
    yield made
    made.close()


def until_built(queries: QueryEngine) -> None:
    with queries._building:
        assert queries._source.stacks.overlay_nodes == 0


def shown(answer) -> dict[tuple[str, ...], tuple[int, int]]:
    return {
        tuple(v for k, v in r.key.items() if k not in {"status", "kind"}): (r.self, r.total)
        for r in answer.table.rows
    }


def test_a_store_without_samples_answers_with_nothing(queries: QueryEngine):
    answer = queries.ask(TableQuestion(around_noon(), ("function",), Page()))
    assert answer.table.rows == ()
    assert answer.totals.units == 0
    flame = queries.ask(FlameQuestion(around_noon(), 100)).flame
    assert flame.total.tolist() == [0]
    assert queries.ask(LabelsQuestion(around_noon())).labels == ()
    assert queries.ask(StatusQuestion()).latest is None


def test_recursion_counts_a_sample_once(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        main, fib = (
            write.function("main", file="m.c", binary="prog"),
            write.function("fib", file="f.c", binary="prog"),
        )
        deep, flat = write.stack([main, fib, fib, fib]), write.stack([main, fib])
        write.profile(write.visit("m1", NOON), {deep: 3, flat: 2})
    by_function = shown(queries.ask(TableQuestion(around_noon(), ("function",), Page())))
    assert by_function == {
        ("fib", "f.c", "prog"): (5 * PERIOD, 5 * PERIOD),
        ("main", "m.c", "prog"): (0, 5 * PERIOD),
    }
    by_binary = shown(queries.ask(TableQuestion(around_noon(), ("binary",), Page())))
    assert by_binary == {("prog",): (5 * PERIOD, 5 * PERIOD)}


def test_a_stack_that_landed_a_moment_ago_is_in_the_answer(engine: Engine, queries: QueryEngine):
    queries.ask(TableQuestion(around_noon(), ("function",), Page()))
    for round_ in range(3):
        with engine.begin() as connection:
            write = FactWriter(connection)
            new = write.stack([write.function(f"f{round_}")])
            write.profile(write.visit("m1", NOON), {new: 1})
        assert len(queries.ask(TableQuestion(around_noon(), ("function",), Page())).table.rows) == round_ + 1


def test_a_function_gets_its_name_while_the_tree_knows_it_nameless(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        main = write.function("main")
        nameless = write.function("lib.so+0x10", status=1, start=("ab", 16))
        named = write.function("crc32", status=2)
        stacks = [
            write.stack([main, nameless]),
            write.stack([main, named]),
            write.stack([main, named, nameless]),
        ]
        write.profile(write.visit("m1", NOON), dict.fromkeys(stacks, 1))
    before = queries.ask(TableQuestion(around_noon(), ("function",), Page()))
    assert ("lib.so+0x10", "", "") in shown(before)
    assert before.totals.symbolized == pytest.approx(1 / 3)
    with engine.begin() as connection:
        FactWriter(connection).alias(nameless, named)
    after = queries.ask(TableQuestion(around_noon(), ("function",), Page()))
    assert shown(after) == {("crc32", "", ""): (3 * PERIOD, 3 * PERIOD), ("main", "", ""): (0, 3 * PERIOD)}
    assert after.totals.symbolized == 1
    flame = queries.ask(FlameQuestion(around_noon(), 100)).flame
    assert len(flame.total) == 4, "root, main, crc32 (the two became one) and crc32 below crc32"


@pytest.fixture
def renamed(engine: Engine) -> tuple[int, int, int]:
    """Sampled is a function that has no name; the other two are names for it, each better than the last."""
    with engine.begin() as connection:
        write = FactWriter(connection)
        nameless = write.function("lib.so+0x10", status=1, start=("ab", 16))
        stack = write.stack([write.function("main"), nameless])
        write.profile(write.visit("m1", NOON), {stack: 1})
        for i in range(40):  # ids the cache has no room for yet
            write.function(f"other{i}")
        names = write.function("crc32", status=2), write.function("crc32", file="crc.c", status=3)
    return nameless, *names


def called(queries: QueryEngine) -> set[tuple[str, ...]]:
    return set(shown(queries.ask(TableQuestion(around_noon(), ("function",), Page())))) - {("main", "", "")}


def name(engine: Engine, nameless: int, named: int) -> None:
    with engine.begin() as connection:
        FactWriter(connection).alias(nameless, named)


@pytest.mark.parametrize("rebuilt", [False, True])
def test_a_name_gives_way_to_a_better_one(engine: Engine, queries: QueryEngine, renamed, rebuilt: bool):
    nameless, symtab, full = renamed
    assert called(queries) == {("lib.so+0x10", "", "")}
    for better, shown_ in ((symtab, ("crc32", "", "")), (full, ("crc32", "crc.c", ""))):
        name(engine, nameless, better)
        if rebuilt:
            queries.warm()
            until_built(queries)
        assert called(queries) == {shown_}


def test_a_query_with_an_older_snapshot_takes_no_name_back(engine: Engine, queries: QueryEngine, renamed):
    nameless, symtab, full = renamed
    name(engine, nameless, symtab)
    source = queries._source
    with snapshot(engine) as older:
        assert source.read(older, around_noon()).shape.function.tolist()[-1] == symtab
        name(engine, nameless, full)
        assert called(queries) == {("crc32", "crc.c", "")}
        assert source.read(older, around_noon()).shape.function.tolist()[-1] == full


def test_a_name_that_could_not_be_read_is_read_by_the_next_query(
    engine: Engine, queries: QueryEngine, renamed, monkeypatch: pytest.MonkeyPatch
):
    nameless, symtab, _ = renamed
    called(queries)
    name(engine, nameless, symtab)

    def too_slow(*_args) -> None:
        raise DatabaseBusy("statement timeout")

    with monkeypatch.context() as patch:
        patch.setattr(Functions, "_read", too_slow)
        with pytest.raises(DatabaseBusy):
            called(queries)
    with snapshot(engine) as connection:
        queries._source.renewed(connection)
    assert called(queries) == {("crc32", "", "")}


def test_a_name_another_query_found_and_has_not_put_into_the_tree_yet_is_in_the_answer(
    engine: Engine, queries: QueryEngine, renamed, monkeypatch: pytest.MonkeyPatch
):
    nameless, symtab, _ = renamed
    called(queries)
    name(engine, nameless, symtab)

    def stopped(*_args) -> None:
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(StackTree, "forget_functions", stopped)
        with pytest.raises(InterruptedError):
            called(queries)
    assert called(queries) == {("crc32", "", "")}


def test_a_shape_comes_with_the_names_it_was_made_of(engine: Engine, queries: QueryEngine, renamed):
    nameless, symtab, _ = renamed
    source = queries._source
    with snapshot(engine) as connection:
        stacks = source.read(connection, around_noon()).facts.stack
        shape, naming = source.shape(connection, stacks)
    name(engine, nameless, symtab)
    assert called(queries) == {("crc32", "", "")}
    assert naming.canonical[shape.function[1:]].tolist() == shape.function[1:].tolist()


def test_markers_say_what_is_incomplete(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        cut = write.function("[stack: cut short]", kind=2)
        main, leaf = write.function("main"), write.function("[libx.so]", status=1)
        samples = {
            write.stack([main]): 6,
            write.stack([cut, main]): 1,
            write.stack([main, leaf]): 2,
            write.stack([cut]): 1,
        }
        write.profile(write.visit("m1", NOON), samples)
    totals = queries.ask(TableQuestion(around_noon(), ("function",), Page())).totals
    assert totals.complete == pytest.approx(0.8)
    assert totals.symbolized == pytest.approx(0.7)
    assert totals.leaf_symbolized == pytest.approx(0.7)


def test_campaigns_events_and_depths_never_add_up(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function("f")])
        write.profile(write.visit("m1", NOON), {stack: 1})
        write.profile(write.visit("m1", NOON, campaign_name="by-hand"), {stack: 10})
        visit = write.visit("m1", NOON)
        write.profile(visit, {stack: 100}, stacks=False)
        write.profile(visit, {stack: 7}, event="page-faults", unit="count", period=2, stacks=False)
    assert queries.ask(TableQuestion(around_noon(), ("function",), Page())).totals.samples == 1
    assert (
        queries.ask(TableQuestion(around_noon(campaign="by-hand"), ("function",), Page())).totals.samples
        == 10
    )
    assert (
        queries.ask(TableQuestion(around_noon(event="page-faults"), ("function",), Page())).totals.units == 14
    )
    with pytest.raises(UnknownCampaign):
        queries.ask(TableQuestion(around_noon(campaign="nobody"), ("function",), Page()))
    with pytest.raises(BadSelection, match="Nobody has sampled 'wall'") as caught:
        queries.ask(TableQuestion(around_noon(event="wall"), ("function",), Page()))
    assert "page-faults (count)" in caught.value.hint


def test_the_time_range_is_half_open(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function("f")])
        for minutes in (-60, 0, 59, 60):
            write.profile(write.visit("m1", NOON + timedelta(minutes=minutes)), {stack: 1})
        write.profile(write.visit("m1", datetime(2026, 11, 20, 23, 59, tzinfo=UTC)), {stack: 1})
    assert queries.ask(TableQuestion(around_noon(), ("function",), Page())).totals.samples == 3
    two_days = parse_selection(start="2026-11-20T00:00:00Z", end="2026-11-22T00:00:00Z")
    assert queries.ask(TableQuestion(two_days, ("function",), Page())).totals.samples == 5


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("{}", {"a", "b", "c", ""}),
        ('{app="a"}', {"a"}),
        ('{application!="a"}', {"b", "c", ""}),
        ('{application=~"a|b"}', {"a", "b"}),
        ('{application=~"."}', {"a", "b", "c"}),
        ('{application!~"a|b"}', {"c", ""}),
        ('{application=""}', {""}),
        ('{machine="m1"}', {"a", "c", ""}),
        ('{machine!~"m[13]"}', {"b"}),
        ('{team="x"}', {"a"}),
        ('{team=""}', {"c", ""}),
        ('{team!=""}', {"a", "b"}),
        ('{team=~"x?"}', {"a", "c", ""}),
        ('{team!="x",machine="m1"}', {"c", ""}),
        ('{application="\'; drop table profile; --"}', set()),
        ('{application="100%(s)s %s"}', set()),
    ],
)
def test_matchers_choose_profiles(engine: Engine, queries: QueryEngine, select: str, expected: set[str]):
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function("f")])
        one, two = write.visit("m1", NOON), write.visit("m2", NOON)
        write.profile(one, {stack: 1}, labels={"application": "a", "team": "x"})
        write.profile(two, {stack: 1}, labels={"application": "b", "team": "y"})
        write.profile(one, {stack: 1}, labels={"application": "c"})
        write.profile(one, {stack: 1}, labels={"comm": "none"})
    answer = queries.ask(TableQuestion(around_noon(select=select), ("application",), Page()))
    assert {row.key["application"] for row in answer.table.rows} == expected


def test_a_label_nobody_has_is_an_error_and_not_an_empty_answer(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        write.profile(write.visit("m1", NOON), {write.stack([write.function("f")]): 1}, labels={"team": "x"})
    with pytest.raises(BadSelection, match="No profile has a label 'taem'") as caught:
        queries.ask(TableQuestion(around_noon(select='{taem="x"}'), ("function",), Page()))
    assert caught.value.hint == "Did you mean team?"
    assert (caught.value.parameter, caught.value.at) == ("select", 1)
    with pytest.raises(BadSelection, match="No profile has a label 'Platfrm'") as caught:
        queries.ask(TableQuestion(around_noon(), ("function", "Platfrm"), Page()))
    assert (caught.value.hint, caught.value.parameter) == ("Did you mean platform?", "by")
    with pytest.raises(BadSelection, match="Nobody has sampled 'cpuu'") as caught:
        queries.ask(TableQuestion(around_noon(event="cpuu"), ("function",), Page()))
    assert (caught.value.hint, caught.value.parameter) == (
        "Did you mean cpu? Events: cpu (nanoseconds).",
        "event",
    )


def test_labels_with_their_shares(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function("f")])
        visit = write.visit("m1", NOON)
        for number in range(1, 5):
            write.profile(visit, {stack: number}, labels={"application": f"app{number}", "team": "x"})
    found = {label.name: label for label in queries.ask(LabelsQuestion(around_noon(), limit=3)).labels}
    assert [(v.value, v.units) for v in found["application"].values] == [
        ("app4", 4 * PERIOD), ("app3", 3 * PERIOD), ("app2", 2 * PERIOD),
    ]  # fmt: skip
    assert found["application"].more == 1
    assert [(v.value, v.units) for v in found["team"].values] == [("x", 10 * PERIOD)]
    assert "container" not in found


def test_answers_add_up_while_others_land_name_and_rebuild(engine: Engine):
    queries = QueryEngine(engine)
    with engine.begin() as connection:
        write = FactWriter(connection)
        functions = [write.function(f"f{i}", status=1, start=("k", i)) for i in range(8)]
        named = [write.function(f"named{i}", file=f"{i % 3}.c") for i in range(8)]
    stop = threading.Event()

    def land() -> int:
        for round_ in range(8):
            with engine.begin() as connection:
                write = FactWriter(connection)
                stacks = [write.stack(functions[: 1 + (round_ + i) % 8] + functions[:i]) for i in range(4)]
                write.profile(write.visit(f"m{round_}", NOON), dict.fromkeys(stacks, 1 + round_))
                write.alias(functions[round_], named[round_])
            queries.warm()
        return 4 * sum(range(1, 9))

    def ask() -> int:
        asked = 0
        while not stop.is_set():
            for by in ("function", "file", "machine"):
                answer = queries.ask(TableQuestion(around_noon(), (by,), Page(limit=3)))
                shown_ = sum(row.self for row in answer.table.rows)
                assert shown_ + answer.table.remainder_self == answer.totals.units
            flame = queries.ask(FlameQuestion(around_noon(), 1000)).flame
            assert flame.self.sum() == flame.total[0]
            asked += 1
        return asked

    with ThreadPoolExecutor(4) as pool:
        askers = [pool.submit(ask) for _ in range(3)]
        landed = pool.submit(land)
        try:
            samples = landed.result()
        finally:
            stop.set()
        assert all(asker.result() > 0 for asker in askers)
    answer = queries.ask(TableQuestion(around_noon(), ("function",), Page()))
    assert answer.totals.samples == samples
    assert {row.key["function"] for row in answer.table.rows} <= {f"named{i}" for i in range(8)}
    queries.close()


def test_the_base_is_built_again_when_the_overlay_has_grown(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("storage.query.engine._OVERLAY_LEAST", 3)
    queries = QueryEngine(engine)
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function(f"f{i}") for i in range(5)])
        write.profile(write.visit("m1", NOON), {stack: 1})
    queries.ask(FlameQuestion(around_noon(), 100))
    assert queries._source.stacks.overlay_nodes == 5, "one question is not worth a base"
    queries.warm()
    until_built(queries)
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function(f"g{i}") for i in range(5)])
        write.profile(write.visit("m1", NOON), {stack: 1})
    before = queries.ask(FlameQuestion(around_noon(), 100)).flame
    until_built(queries)
    assert queries._source.stacks.nodes == 11
    assert queries.ask(FlameQuestion(around_noon(), 100)).flame.total.tolist() == before.total.tolist()
    queries.close()


def test_a_tree_that_cannot_be_built_is_tried_again_after_a_rest_that_doubles(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    now = 1000.0
    tried: list[float] = []

    def broken(*_args) -> SampleSource:
        tried.append(now)
        raise IndexError("damaged")

    monkeypatch.setattr("storage.query.engine._OVERLAY_LEAST", 0)
    monkeypatch.setattr(SampleSource, "renewed", broken)
    queries = QueryEngine(engine, clock=lambda: now)
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function(f"f{i}") for i in range(5)])
        write.profile(write.visit("m1", NOON), {stack: 1})
    queries.warm()
    for seconds in (1000, 1059, 1060, 1179, 1180, 1419):
        with queries._building:
            now = float(seconds)
        assert len(queries.ask(FlameQuestion(around_noon(), 100)).flame.total) == 6
    with queries._building:
        assert tried == [1000, 1060, 1180]
    logged = [record for record in caplog.records if record.name == "storage.query.engine"]
    assert [record.exc_info is not None for record in logged] == [True] * 3
    queries.close()


# --- Everything against an oracle that counts with dictionaries ---------------------------------

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


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(st.lists(a_fact, min_size=1, max_size=12), min_size=1, max_size=3),
    nodes=st.integers(1, 30),
)
def test_every_view_counts_what_a_dictionary_counts(engine: Engine, batches: list[list[Fact]], nodes: int):
    campaign = f"c{datetime.now(UTC).timestamp()}"
    queries = QueryEngine(engine)
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
            queries.warm()  # the base is built while it is asked; either state must answer alike
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
                for row in answer.table.rows
            }
            rows = expected_rows(facts, key_of)
            assert found == {key: (own, total, len(machines)) for key, (own, total, machines) in rows.items()}
            assert sum(row.self for row in answer.table.rows) == whole
            assert sum(row.self_samples for row in answer.table.rows) == answer.totals.samples
            page = queries.ask(TableQuestion(selection, tuple(by.split(",")), Page(limit=1, offset=1))).table
            assert sum(row.self for row in page.rows) + page.remainder_self == whole
            assert len(page.rows) + page.remainder_rows == len(rows)
    check_flame(queries, selection, facts, nodes)
    check_focus(queries, selection, facts)
    queries.close()


def check_flame(queries: QueryEngine, selection: Selection, facts: list[Fact], nodes: int) -> None:
    flame = queries.ask(FlameQuestion(selection, 10_000)).flame
    totals: Counter = Counter()
    for fact in facts:
        for length in range(len(fact.stack) + 1):
            totals[tuple(NAMES[f] for f in fact.stack[:length])] += fact.samples * fact.period
    paths = flame_paths(flame)
    assert dict(zip(paths, flame.total.tolist(), strict=True)) == totals
    assert flame.self.sum() == flame.total[0] == totals[()]
    assert flame.pruned_nodes == 0
    pruned = queries.ask(FlameQuestion(selection, nodes)).flame
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
    assert queries.ask(FlameQuestion(narrowed, 10_000)).flame.total[0] == units
    assert next(islice(queries.ask(FlameQuestion(narrowed, 10_000)).flame.total.tolist(), 1)) == units
