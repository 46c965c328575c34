"""Tables by any of function, file, line and binary, over rows in a real PostgreSQL, against counting by hand."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from storage.errors import BadSelection
from storage.ingest.ingest import ingest
from storage.ingest.interning import Interner
from storage.query.estimation.estimates import Estimate, estimates
from storage.query.query_engine import QueryEngine
from storage.query.reading import Reading
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.lines import LinesQuestion
from storage.query.shapes.row_order import Page, Sort, ordered
from storage.query.shapes.table import TableQuestion, all_rows, rows_of_lines
from storage.query.subject import parse_lines_subject
from tests.fact_writer import FactWriter
from tests.ingested import archived
from tests.sampled_campaign import Campaign
from tests.synthetic_captures import PERIOD as INGESTED_PERIOD
from tests.synthetic_captures import SyntheticCapture, named

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PERIOD = 10
FUNCTIONS = (("main", "m.c", "prog"), ("f", "lib.c", "lib"), ("g", "lib.c", "prog"), ("h", "", "lib"))
"""(name, file, binary)"""
EVERYTHING = Page(Sort.NAME, 1000)


@dataclass(frozen=True)
class Taken:
    """One profile: samples by stack of (index of a function, line or 0), outermost first."""

    application: str
    stacks: tuple[tuple[tuple[tuple[int, int], ...], int], ...]


frames = st.tuples(st.integers(0, 3), st.sampled_from((0, 0, 3, 7, 20)))
stacks = st.tuples(st.lists(frames, min_size=1, max_size=6).map(tuple), st.integers(1, 5))
taken = st.builds(Taken, st.sampled_from("ab"), st.lists(stacks, min_size=1, max_size=6).map(tuple))


@dataclass(frozen=True)
class EstimatesQuestion:
    """The estimates of self and total that a table's rows are made of, in the order of `EVERYTHING`."""

    selection: Selection
    by: tuple[str, ...]

    def answer(self, reading: Reading) -> list[tuple[Estimate | None, Estimate | None]]:
        keys = split_keys(self.by)
        if keys.by_line:
            rows = rows_of_lines(reading, reading.lined(self.selection, keys.labels), self.by)
        else:
            rows = all_rows(reading, reading.samples(self.selection, keys.labels, keys.frame), self.by)
        shown = ordered(rows, EVERYTHING)
        details = rows.details(shown)
        own, total = (estimates(each, len(shown)) for each in (details.own, details.total))
        return list(zip(own, total, strict=True))


def around_noon(**more) -> Selection:
    return parse_selection(start="2026-11-21T11:00:00Z", end="2026-11-21T13:00:00Z", **more)


def write_all(engine: Engine, profiles: list[Taken], *, random: bool = False) -> None:
    with engine.begin() as connection:
        campaign = Campaign(connection, {"a": 30}) if random else None
        write = campaign.write if campaign else FactWriter(connection)
        ids = [write.function(name, file=file, binary=binary) for name, file, binary in FUNCTIONS]
        for number, one in enumerate(profiles):
            visit = campaign.answer(NOON, "a") if campaign else write.visit(f"m{number}", NOON)
            samples, own, total = Counter(), Counter(), Counter()
            for frames_, count in one.stacks:
                samples[write.stack([ids[f] for f, _ in frames_])] += count
                own[frames_[-1]] += count
                total.update(dict.fromkeys(set(frames_), count))
            lines = {(ids[f], line): (own[f, line], total[f, line]) for f, line in total if line}
            write.profile(visit, samples, labels={"application": one.application}, period=PERIOD, lines=lines)


def counted(profiles: list[Taken], keys: tuple[str, ...]) -> dict[tuple[str, ...], tuple[int, int]]:
    """Self and total by the values of keys, which have no line."""
    own, total = Counter(), Counter()
    for one in profiles:
        for frames_, count in one.stacks:
            rows = []
            for function, _ in frames_:
                name, file, binary = FUNCTIONS[function]
                members = {"application": one.application, "function": name, "file": file, "binary": binary}
                rows.append(tuple(members[key] for key in keys))
            own[rows[-1]] += count * PERIOD
            total.update(dict.fromkeys(set(rows), count * PERIOD))
    return {row: (own[row], total[row]) for row in total}


def by_line(profiles: list[Taken]) -> dict[tuple[str, str, int], tuple[int, int]]:
    """Self and total by application, function and line, line 0 as the module of the rows says it."""
    own, total, whole = Counter(), Counter(), Counter()
    for one in profiles:
        for frames_, count in one.stacks:
            named = [(one.application, FUNCTIONS[f][0], line) for f, line in frames_]
            own[named[-1]] += count * PERIOD
            total.update(dict.fromkeys(set(named), count * PERIOD))
            whole.update({row[:2]: count * PERIOD for row in {n[:2] for n in named}})
    found = {row: (own[row], total[row]) for row in total if row[2]}
    for application, name in whole:
        lines = sum(units for row, units in total.items() if row[:2] == (application, name) and row[2])
        mine = own[application, name, 0]
        rest = max(whole[application, name] - lines, mine)
        if rest:
            found[application, name, 0] = mine, rest
    return found


def shown(answer) -> dict[tuple[str, ...], tuple[int, int]]:
    return {
        tuple(v for k, v in r.key.items() if k not in {"status", "kind"}): (r.self, r.total)
        for r in answer.rows
    }


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(profiles=st.lists(taken, min_size=1, max_size=4))
def test_rows_of_any_keys_are_what_counting_says(engine: Engine, profiles: list[Taken]):
    empty(engine)
    write_all(engine, profiles)
    queries = QueryEngine(engine)
    units = sum(count * PERIOD for one in profiles for _, count in one.stacks)
    for keys in (
        ("file", "binary"),
        ("binary",),
        ("application", "file", "binary"),
        ("function",),
    ):
        found = queries.ask(TableQuestion(around_noon(), keys, EVERYTHING))
        names = ("function", "file", "binary") if keys == ("function",) else keys
        assert shown(found) == counted(profiles, names)
    found = queries.ask(TableQuestion(around_noon(), ("application", "function", "line"), EVERYTHING))
    assert {
        (row.key["application"], row.key["function"], int(row.key["line"])): (row.self, row.total)
        for row in found.rows
    } == by_line(profiles)
    assert sum(row.self for row in found.rows) == units
    in_files = queries.ask(TableQuestion(around_noon(), ("line", "application"), EVERYTHING))
    assert sum(row.self for row in in_files.rows) == units
    expected = defaultdict(lambda: [0, 0])
    for (application, name, line), (own, total) in by_line(profiles).items():
        file = next(file for name_, file, _ in FUNCTIONS if name_ == name)
        expected[application, file, line][0] += own
        expected[application, file, line][1] += total
    for row in in_files.rows:
        key = row.key["application"], row.key["file"], int(row.key["line"])
        assert row.self == expected[key][0]
        assert row.total == expected[key][1] if key[2] else row.total <= expected[key][1]
    queries.close()


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(profiles=st.lists(taken, min_size=2, max_size=5))
def test_estimates_of_lines_are_of_what_the_rows_show(engine: Engine, profiles: list[Taken]):
    """What visits brought to a row adds up to the row: each estimate is that of a share and a total."""
    empty(engine)
    write_all(engine, profiles, random=True)
    queries = QueryEngine(engine)
    for keys in (("function", "line"), ("line",), ("file", "binary")):
        answer = queries.ask(TableQuestion(around_noon(), keys, EVERYTHING))
        behind = queries.ask(EstimatesQuestion(around_noon(), keys))
        for row, of_row in zip(answer.rows, behind, strict=True):
            for share, lo, hi, estimate in (
                (row.self_share, row.self_lo, row.self_hi, of_row[0]),
                (row.total_share, row.total_lo, row.total_hi, of_row[1]),
            ):
                assert estimate is not None
                assert estimate.share.value == pytest.approx(share, abs=1e-9)
                assert (estimate.share.lo, estimate.share.hi) == (lo, hi)
                assert lo <= share + 1e-9
                assert share <= hi + 1e-9
            assert row.total_samples == row.total // PERIOD
            assert row.self_samples == row.self // PERIOD
    queries.close()


def test_lines_of_a_folded_stack_are_those_its_functions_have(engine: Engine, queries: QueryEngine):
    """A stack of 200 calls keeps its ends: neither functions nor lines of its middle count."""
    [visit_id] = archived(engine)
    made = SyntheticCapture(visit_id)
    app = made.mapping("/app")
    again, middle, sometimes, main, leaf = (
        made.frame(app, (named(name, file="a.c"), line))
        for name, line in (("again", 80), ("middle", 70), ("sometimes", 60), ("main", 50), ("leaf", 90))
    )
    deep = made.stack([leaf, *[again] * 98, middle, sometimes, *[again] * 98, main])
    elsewhere = made.frame(app, (named("sometimes", file="a.c"), 61))
    made.segment({made.group(): {deep: 10, made.stack([elsewhere, main]): 3}})
    ingest(engine, Interner(engine), visit_id, 1, *made.finished())
    selection = parse_selection(start="2026-11-20T23:00:00Z", end="2026-11-21T00:00:00Z")
    rows = queries.ask(TableQuestion(selection, ("function", "line"), EVERYTHING)).rows
    found = {(row.key["function"], int(row.key["line"])): (row.self, row.total) for row in rows}
    expected = {
        ("main", 50): (0, 13),
        ("again", 80): (0, 10),
        ("leaf", 90): (10, 10),
        ("sometimes", 61): (3, 3),
    }
    marker = found.pop(("[frames left out]", 0))
    assert marker == (0, 10 * INGESTED_PERIOD)
    assert found == {
        key: (own * INGESTED_PERIOD, total * INGESTED_PERIOD) for key, (own, total) in expected.items()
    }
    answer = queries.ask(LinesQuestion(selection, parse_lines_subject(file="a.c")))
    assert {line.line: line.total for line in answer.rows} == {
        line: total * INGESTED_PERIOD for (_, line), (_, total) in expected.items()
    }


def test_pages_neither_repeat_nor_miss_a_row(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        ids = [write.function(f"f{n:02}") for n in range(30)]
        write.profile(write.visit("m", NOON), {write.stack([id_]): 1 + n % 3 for n, id_ in enumerate(ids)})
    for sort in Sort:
        whole = queries.ask(TableQuestion(around_noon(), ("function",), Page(sort, 100)))
        pages = [
            queries.ask(TableQuestion(around_noon(), ("function",), Page(sort, 7, offset)))
            for offset in range(0, 30, 7)
        ]
        assert [row for page in pages for row in page.rows] == list(whole.rows)
        for page in pages:
            assert sum(row.self for row in page.rows) + page.remainder.self == sum(r.self for r in whole.rows)
            assert len(page.rows) + page.remainder.rows == 30
        if sort is Sort.SELF_DESC:
            assert [row.key["function"] for row in whole.rows[:10]] == [f"f{n:02}" for n in range(2, 30, 3)]


def test_rows_are_found_by_regular_expression(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        ids = [write.function(name, file=f"{name}.c") for name in ("malloc", "calloc", "free")]
        write.profile(write.visit("m", NOON), {write.stack([id_]): 1 for id_ in ids})
    page = Page(Sort.NAME, find_regex="^.alloc$", find="MALL")
    found = queries.ask(TableQuestion(around_noon(), ("function",), page))
    assert [row.key["function"] for row in found.rows] == ["malloc"]
    assert (found.rows_total, found.remainder.rows) == (1, 2)
    with pytest.raises(BadSelection, match="not valid"):
        queries.ask(TableQuestion(around_noon(), ("function",), Page(find_regex="(")))


def test_lines_are_not_narrowed_by_stacks(engine: Engine, queries: QueryEngine):
    for narrowed in ({"focus": "x"}, {"hide": "x"}, {"select": '{function="x"}'}):
        with pytest.raises(BadSelection, match="stored without stacks"):
            queries.ask(TableQuestion(around_noon(**narrowed), ("function", "line"), Page()))
    assert queries.ask(TableQuestion(around_noon(), ("function", "line"), Page())).rows == ()


@pytest.mark.slow
def test_of_too_many_lines_a_random_part_of_the_visits_is_read(
    engine: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("storage.query.line_samples.MAX_LINES", 120)
    with engine.begin() as connection:
        campaign = Campaign(connection, {"a": 1000}, random=Random(3))
        write = campaign.write
        work = write.function("work")
        stack_id = write.stack([work])
        for _ in range(100):
            lines = {(work, line): (1, 1) for line in (1, 2)}
            write.profile(campaign.answer(NOON, "a"), {stack_id: 3}, lines=lines, period=PERIOD)
    answer = queries.ask(TableQuestion(around_noon(), ("function", "line"), Page()))
    assert answer.totals.approximate
    assert 0 < answer.totals.visits_ingested < 100
    assert [row.self_share for row in answer.rows] == [pytest.approx(1 / 3)] * 3
    assert sum(row.self for row in answer.rows) == answer.totals.units


def test_lines_of_visits_by_hand_are_read_whole_or_not_at_all(
    engine: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("storage.query.line_samples.MAX_LINES", 1)
    with engine.begin() as connection:
        write = FactWriter(connection)
        work = write.function("work")
        lines = {(work, line): (1, 1) for line in (1, 2)}
        write.profile(write.visit("m", NOON), {write.stack([work]): 2}, lines=lines)
    with pytest.raises(BadSelection, match="rows of lines"):
        queries.ask(TableQuestion(around_noon(), ("line",), Page()))


def test_lines_follow_a_function_that_was_named_since(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        named = write.function("work", file="w.c", binary="prog")
        nameless = write.function("prog+0x40", binary="prog", status=1, start=("abc", 64))
        write.profile(write.visit("m", NOON), {write.stack([nameless]): 3}, lines={(nameless, 7): (2, 2)})
        write.profile(write.visit("n", NOON), {write.stack([named]): 1}, lines={(named, 7): (1, 1)})
        write.alias(nameless, named)
    rows = queries.ask(TableQuestion(around_noon(), ("function", "line"), Page())).rows
    assert [(row.key["function"], row.key["line"], row.self_samples) for row in rows] == [
        ("work", "7", 3),
        ("work", "0", 1),
    ]


def empty(engine: Engine) -> None:
    tables = "visit, capture, profile, chunk, line_chunk, capture_segment, rollup_queue, coverage, function"
    with engine.begin() as connection:
        connection.exec_driver_sql(f"TRUNCATE {tables} CASCADE")
