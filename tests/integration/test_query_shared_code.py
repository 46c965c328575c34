"""Shared code, and who uses it, over rows in a real PostgreSQL, against counting by hand."""

import math
from collections import Counter, defaultdict
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import beta
from sqlalchemy import Engine

from storage.errors import BadSelection
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.shared_code import SharedCodeQuestion
from storage.query.shapes.users import UsersQuestion
from storage.query.subject import parse_subject
from tests.fact_writer import FactWriter
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PERIOD = 10
FUNCTIONS = (
    ("main", "m.c", "prog", 0), ("f", "z.c", "libz", 0), ("g", "z.c", "libz", 0), ("h", "", "libh", 0),
    ("[cut]", "", "", 2),
)  # fmt: skip
"""(name, file, binary, kind)"""
MEMBER = {"function": 0, "file": 1, "binary": 2}

stack = st.lists(st.integers(0, 4), min_size=1, max_size=5).map(tuple)
applications = st.dictionaries(
    st.sampled_from("abc"), st.lists(st.tuples(stack, st.integers(1, 40)), min_size=1, max_size=6), min_size=1
)
Taken = dict[str, list[tuple[tuple[int, ...], int]]]


def around_noon(**more) -> Selection:
    return parse_selection(start="2026-11-21T11:00:00Z", end="2026-11-21T13:00:00Z", **more)


def write_all(engine: Engine, taken: Taken, *, random: bool = False) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("TRUNCATE visit, capture, profile, chunk, function, coverage CASCADE")
        campaign = Campaign(connection, {"a": 50}) if random else None
        write = campaign.write if campaign else FactWriter(connection)
        ids = [write.function(n, file=f, binary=b, kind=kind) for n, f, b, kind in FUNCTIONS]
        for application, stacks in taken.items():
            visit = campaign.answer(NOON, "a") if campaign else write.visit(application, NOON)
            samples: Counter[int] = Counter()
            for frames, count in stacks:
                samples[write.stack([ids[f] for f in frames])] += count
            write.profile(visit, samples, labels={"application": application}, period=PERIOD)


def used(taken: Taken, by: str, *, own: bool) -> dict[str, dict[str, int]]:
    """Samples by key and application."""
    found: dict[str, dict[str, int]] = defaultdict(Counter)
    for application, stacks in taken.items():
        for frames, count in stacks:
            functions = [FUNCTIONS[f] for f in (frames[-1:] if own else frames)]
            code = [f for f in functions if f[3] != 2] if by == "function" else functions
            for key in {f[MEMBER[by]] for f in code} - {""}:
                found[key][application] += count
    return found


def surely(part: int, whole: int) -> float:
    return float(beta.ppf(0.025, part, whole - part + 1))


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    taken=applications,
    asked=st.tuples(
        st.sampled_from(("function", "file", "binary")),
        st.booleans(),
        st.sampled_from((0.05, 0.3, 1.0)),
        st.integers(1, 3),
    ),
)
def test_what_is_shared_and_cold_is_what_counting_says(
    engine: Engine, taken: Taken, asked: tuple[str, bool, float, int]
):
    by, own, cold, least = asked
    write_all(engine, taken)
    queries = QueryEngine(engine)
    shared = queries.ask(SharedCodeQuestion(around_noon(), by, own, cold, least))
    queries.close()
    whole = {a: sum(count for _, count in stacks) for a, stacks in taken.items()}
    expected = {
        key: parts
        for key, parts in used(taken, by, own=own).items()
        if len(parts) >= least and all(surely(n, whole[a]) <= cold for a, n in parts.items())
    }
    assert {found.key[by] for found in shared.rows} == expected.keys()
    assert (shared.rows_total, shared.applications) == (len(expected), len(taken))
    shares = [found.self_share if own else found.total_share for found in shared.rows]
    assert shares == sorted(shares, reverse=True)
    for found in shared.rows:
        parts = expected[found.key[by]]
        mine = sum(parts.values())
        assert (found.self if own else found.total) == mine * PERIOD
        assert found.applications == len(parts)
        entropy = -sum(n / mine * math.log(n / mine) for n in parts.values())
        assert found.effective_applications == pytest.approx(math.exp(entropy))
        assert found.largest_lo == pytest.approx(max(surely(n, whole[a]) for a, n in parts.items()))
        assert found.largest_share == pytest.approx(
            parts[found.largest_application] / whole[found.largest_application]
        )
    if own:
        total = sum(sum(parts.values()) for parts in expected.values())
        assert shared.share == pytest.approx(total / sum(whole.values()))


def test_a_library_that_all_use_a_little_stands_first(engine: Engine, queries: QueryEngine):
    taken = {name: [((0,), 960), ((0, 1), 40)] for name in "abc"} | {"d": [((0,), 500), ((0, 3), 500)]}
    write_all(engine, taken, random=True)
    shared = queries.ask(SharedCodeQuestion(around_noon(), "binary", limit=1))
    (found,) = shared.rows
    assert found.key == {"binary": "libz"}
    assert found.self_share == pytest.approx(0.03)
    assert found.self_lo is not None
    assert found.self_lo < 0.03 < found.self_hi
    assert (found.applications, found.effective_applications) == (3, pytest.approx(3.0))


def test_nothing_is_shared_in_an_empty_store(queries: QueryEngine):
    shared = queries.ask(SharedCodeQuestion(around_noon()))
    assert (shared.rows, shared.share, shared.applications) == ((), 0.0, 0)
    with pytest.raises(BadSelection):
        queries.ask(SharedCodeQuestion(around_noon(), by="line"))


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(taken=applications, subject=st.sampled_from(("f", '{binary="libz"}', "nothing")))
def test_users_are_what_counting_says(engine: Engine, taken: Taken, subject: str):
    write_all(engine, taken, random=True)
    queries = QueryEngine(engine)
    answered = queries.ask(UsersQuestion(around_noon(), parse_subject(function=subject)))
    queries.close()
    of = {"f": {1}, '{binary="libz"}': {1, 2}, "nothing": set()}[subject]
    expected = {
        application: sum(count for frames, count in stacks if of & set(frames))
        for application, stacks in taken.items()
    }
    expected = {application: count for application, count in expected.items() if count}
    assert {user.key["application"]: user.total // PERIOD for user in answered.rows} == expected
    assert answered.itself.total == sum(expected.values()) * PERIOD
    assert sum(user.of_function for user in answered.rows) == pytest.approx(1.0 if expected else 0.0)
    assert answered.unseen_hi is not None
    assert 0 < answered.unseen_hi <= 1
    for user in answered.rows:
        stacks = taken[user.key["application"]]
        whole, mine = sum(count for _, count in stacks), expected[user.key["application"]]
        assert user.within == pytest.approx(mine / whole)
        callers: Counter[str] = Counter()
        for frames, count in stacks:
            above = {frames[i - 1] if i else None for i, frame in enumerate(frames) if frame in of}
            callers.update({"" if f is None else FUNCTIONS[f][0]: count for f in above})
        shares = {caller.function.name if caller.function else "": caller.share for caller in user.callers}
        assert len(shares) == min(len(callers), 3)
        for name, share in shares.items():
            assert share == pytest.approx(callers[name] / mine)


def test_users_are_told_by_labels(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack_id = write.stack([write.function("main"), write.function("old_api")])
        for version, samples in (("1", 3), ("2", 1)):
            labels = {"application": "a", "version": version}
            write.profile(write.visit("m", NOON), {stack_id: samples}, labels=labels)
    question = UsersQuestion(
        around_noon(), parse_subject(function="old_api"), ("application", "version"), limit=1
    )
    answered = queries.ask(question)
    assert [(user.key, user.of_function) for user in answered.rows] == [
        ({"application": "a", "version": "1"}, 0.75)
    ]
    assert (answered.rows_total, answered.unseen_hi) == (2, None)
    with pytest.raises(BadSelection, match="by labels"):
        queries.ask(UsersQuestion(around_noon(), parse_subject(function="x"), ("function",)))
