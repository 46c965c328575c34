"""GIVEN samples of several builds WHEN their source lines are asked for THEN builds of one text are one version."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, insert

from storage.query.answers.lines import LinesAnswer, SourceBuild
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.lines import LinesQuestion
from storage.query.subject import Subject, parse_lines_subject, parse_subject
from storage.schema import binary, capture_binary, source_file, source_path
from tests.fact_writer import FactWriter, Visit

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PERIOD = 10
FUNCTIONS = (("main", "m.c", "prog"), ("f", "lib.c", "lib"), ("g", "lib.c", "prog"), ("h", "lib.c", "lib"))
TEXTS = {
    ("p1", "m.c"): "A",
    ("p2", "m.c"): "A",
    ("p1", "lib.c"): "B",
    ("l1", "lib.c"): "B",
    ("l2", "lib.c"): "C",
}
"""Contents by binary key and path; p3's sources are not stored."""


@dataclass(frozen=True)
class Taken:
    """One visit with one profile: its build of prog, the builds of lib it met, samples by stack of (function, line)."""

    main: str
    libs: frozenset[str]
    stacks: tuple[tuple[tuple[tuple[int, int], ...], int], ...]


frames = st.tuples(st.integers(0, 3), st.sampled_from((0, 3, 7)))
stacks = st.tuples(st.lists(frames, min_size=1, max_size=5).map(tuple), st.integers(1, 5))
taken = st.builds(
    Taken,
    st.sampled_from(("p1", "p2", "p3", "")),
    st.frozensets(st.sampled_from(("l1", "l2"))),
    st.lists(stacks, min_size=1, max_size=5).map(tuple),
)


def around_noon(**more) -> Selection:
    return parse_selection(start="2026-11-21T11:00:00Z", end="2026-11-21T13:00:00Z", **more)


def a_day_before() -> Selection:
    return parse_selection(start="2026-11-20T11:00:00Z", end="2026-11-20T13:00:00Z")


def sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def shown_sha256(text: str) -> str:
    return sha256(text).hex()


def store_builds(connection: Connection) -> dict[str, int]:
    ids = {}
    for key, name in (("p1", "prog"), ("p2", "prog"), ("p3", "prog"), ("l1", "lib"), ("l2", "lib")):
        made = insert(binary).values(key=key, name=name, path=f"/{name}", kind="file")
        ids[key] = connection.execute(made.returning(binary.c.binary_id)).scalar_one()
    for text in set(TEXTS.values()):
        connection.execute(insert(source_file).values(sha256=sha256(text), bytes=1, raw_bytes=1))
    for (key, path), text in TEXTS.items():
        connection.execute(insert(source_path).values(binary_key=key, path=path, sha256=sha256(text)))
    return ids


def meet(connection: Connection, visit: Visit, binary_id: int) -> None:
    values = {"visit_id": visit.id, "day": visit.drawn_at.date(), "samples": 1, "unresolved": 0}
    connection.execute(insert(capture_binary).values(binary_id=binary_id, **values))


def write_all(connection: Connection, profiles: list[Taken], before: Sequence[Taken] = ()) -> None:
    """`before`: what was taken a day earlier."""
    write, builds = FactWriter(connection), store_builds(connection)
    ids = [write.function(name, file=file, binary=name_) for name, file, name_ in FUNCTIONS]
    taken_at = [(one, NOON) for one in profiles] + [(one, NOON - timedelta(days=1)) for one in before]
    for number, (one, at) in enumerate(taken_at):
        visit = write.visit(f"m{number}", at)
        for key in one.libs:
            meet(connection, visit, builds[key])
        samples, own, total = Counter(), Counter(), Counter()
        for frames_, count in one.stacks:
            samples[write.stack([ids[f] for f, _ in frames_])] += count
            own[frames_[-1]] += count
            total.update(dict.fromkeys(set(frames_), count))
        lines = {(ids[f], line): (own[f, line], total[f, line]) for f, line in total if line}
        write.profile(
            visit, samples, labels={"image": "prog", "build_id": one.main}, period=PERIOD, lines=lines
        )


def counted(profiles: list[Taken], of: set[str]) -> tuple[dict[tuple[str, str, int], list[int]], int]:
    """Self and total by (file, text or empty, line), and self without a line."""
    found: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0])
    without = 0
    for one in profiles:
        lib = next(iter(one.libs)) if len(one.libs) == 1 else ""

        def row(function: int, line: int, one: Taken = one, lib: str = lib) -> tuple[str, str, int]:
            _, file, name = FUNCTIONS[function]
            return file, TEXTS.get((one.main if name == "prog" else lib, file), ""), line

        for frames_, count in one.stacks:
            asked = {frame for frame in frames_ if FUNCTIONS[frame[0]][0] in of}
            for function, line in asked:
                if line:
                    found[row(function, line)][1] += count * PERIOD
            if frames_[-1] in asked:
                if frames_[-1][1]:
                    found[row(*frames_[-1])][0] += count * PERIOD
                else:
                    without += count * PERIOD
    return found, without


def shown(lines: LinesAnswer) -> dict[tuple[str, str, int], list[int]]:
    text_of = {shown_sha256(text): text for text in TEXTS.values()}
    found = {}
    for line in lines.rows:
        version = lines.versions[line.version]
        text = "" if version.sha256 is None else text_of[version.sha256]
        assert line.key == {"file": version.file, "line": str(line.line)}
        found[version.file, text, line.line] = [line.self, line.total]
    return found


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(profiles=st.lists(taken, min_size=1, max_size=4), which=st.integers(0, 3))
def test_lines_are_added_up_over_builds_of_one_text(engine: Engine, profiles: list[Taken], which: int):
    subject, of = (
        (parse_lines_subject(file="lib.c"), {"f", "g", "h"}),
        (parse_lines_subject(file="lib.c", binary="lib"), {"f", "h"}),
        (parse_subject(function="f"), {"f"}),
        (parse_subject(function='{function=~".*"}'), {"main", "f", "g", "h"}),
    )[which]
    with engine.begin() as connection:
        tables = 'visit, capture, profile, chunk, line_chunk, function, "binary", capture_binary, source_file'
        connection.exec_driver_sql(f"TRUNCATE {tables} CASCADE")
        write_all(connection, profiles)
    queries = QueryEngine(engine)
    lines = queries.ask(LinesQuestion(around_noon(), subject))
    queries.close()
    expected, without = counted(profiles, of)
    assert shown(lines) == expected
    assert lines.without_line == without
    assert sum(own for own, _ in expected.values()) + without == lines.itself.self
    assert sum(version.self for version in lines.versions) == sum(own for own, _ in expected.values())
    for version in lines.versions:
        for build in version.builds:
            text = TEXTS.get((build.key, version.file))
            assert version.sha256 == (None if text is None else shown_sha256(text))
            assert build.binary == ("prog" if build.key.startswith("p") else "lib")
    assert [(line.version, line.line) for line in lines.rows] == sorted(
        (line.version, line.line) for line in lines.rows
    )


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(now=st.lists(taken, max_size=3), before=st.lists(taken, max_size=3))
def test_lines_of_two_times_are_matched_by_their_text(engine: Engine, now: list[Taken], before: list[Taken]):
    with engine.begin() as connection:
        tables = 'visit, capture, profile, chunk, line_chunk, function, "binary", capture_binary, source_file'
        connection.exec_driver_sql(f"TRUNCATE {tables} CASCADE")
        write_all(connection, now, before)
    subject, base = parse_lines_subject(file="lib.c"), a_day_before()
    queries = QueryEngine(engine)
    both = queries.ask(LinesQuestion(around_noon(), subject, base=base))
    sides = [queries.ask(LinesQuestion(selection, subject)) for selection in (around_noon(), base)]
    queries.close()
    shares = [{(lines.versions[row.version].sha256, row.line): row for row in lines.rows} for lines in sides]
    assert {(both.versions[row.version].sha256, row.line) for row in both.rows} == {*shares[0], *shares[1]}
    for row in both.rows:
        here, there = (side.get((both.versions[row.version].sha256, row.line)) for side in shares)
        assert (row.self, row.total) == ((here.self, here.total) if here else (0, 0))
        assert row.b_self_share == (there.self_share if there else 0.0)
        assert row.b_total_share == (there.total_share if there else 0.0)
    builds = [{version.sha256: version.builds for version in lines.versions} for lines in sides]
    assert {version.sha256: {*version.builds} for version in both.versions} == {
        key: {*builds[0].get(key, ()), *builds[1].get(key, ())} for key in {*builds[0], *builds[1]}
    }
    assert [(row.version, row.line) for row in both.rows] == sorted((r.version, r.line) for r in both.rows)


def test_the_heaviest_lines_are_shown_and_the_rest_is_told(engine: Engine, queries: QueryEngine):
    stack_of_lines = tuple((((0, line),), samples) for line, samples in ((3, 1), (7, 5), (9, 2)))
    with engine.begin() as connection:
        write_all(connection, [Taken("p1", frozenset(), stack_of_lines)])
    lines = queries.ask(LinesQuestion(around_noon(), parse_subject(function="main"), limit=2))
    assert [(line.line, line.self) for line in lines.rows] == [(7, 50), (9, 20)]
    assert (lines.rows_total, lines.remainder_self, lines.without_line) == (3, 10, 0)
    assert lines.rows[0].self_samples == 5
    assert [version.builds for version in lines.versions] == [(SourceBuild("p1", "prog"),)]


def test_nobody_has_lines_of_what_does_not_run(queries: QueryEngine):
    lines = queries.ask(LinesQuestion(around_noon(), Subject(7)))
    assert (lines.functions, lines.versions, lines.rows, lines.itself.total) == ((), (), (), 0)
