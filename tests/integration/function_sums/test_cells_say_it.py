"""GIVEN cells that say what each function has WHEN a table asks for functions THEN it says what their stacks say."""

from math import inf
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from storage.query.query_engine import QueryEngine
from storage.query.shapes.table import TableQuestion
from storage.rollup.compact import compact
from tests.access_paths import BY_CELLS
from tests.fact_writer import FactWriter
from tests.integration.function_sums.asking import (
    CLOSED,
    CUT,
    DAY,
    HOUR,
    KERNEL,
    LATE,
    MAIN,
    OTHER,
    PAGES,
    SIZES,
    TOGETHER,
    TWIN,
    WHEN,
    WORK,
    asked,
    check_alike,
    check_applications,
    check_rows,
    check_totals,
    minutes,
    seen,
    store_of,
    sums,
)
from tests.rollup_store import PERIODS, RolledStore, Seen

pytestmark = [pytest.mark.integration, pytest.mark.slow]


a_stack = st.lists(st.integers(0, 7), min_size=1, max_size=5).map(tuple)
"""Functions and markers in any order, some of them more than once."""
a_fact = st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.integers(1, 200))
a_visit = st.builds(
    Seen,
    minute=st.integers(20 * HOUR, 2 * DAY + 4 * HOUR),
    stratum=st.sampled_from(sorted(SIZES)),
    utilisation=st.sampled_from([None, 0.1, 0.9]),
    seconds=st.sampled_from([5.0, 2.5]),
    facts=st.lists(a_fact, max_size=5).map(tuple),
)
a_step = st.one_of(
    st.tuples(st.just("ingest"), st.lists(a_visit, min_size=1, max_size=5)),
    st.tuples(st.just("reprocess"), st.tuples(st.integers(0, 50), st.lists(a_fact, max_size=4))),
    st.tuples(st.just("roll"), st.integers(1, 6)),
    st.tuples(st.just("name"), st.sampled_from(TOGETHER)),
)


@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],  # shrinking takes minutes, and a database
)
@given(
    stacks=st.lists(a_stack, min_size=6, max_size=6, unique=True),
    happened=st.tuples(
        st.lists(a_visit, min_size=1, max_size=8), st.lists(a_step, max_size=3), st.lists(a_step, max_size=4)
    ),
    when=st.one_of(st.none(), st.tuples(st.integers(0, 30), st.integers(1, 60), st.sampled_from([0, 17]))),
)
def test_functions_say_what_stacks_say(
    engine: Engine, queries: QueryEngine, stacks: Any, happened: Any, when: tuple[int, int, int] | None
) -> None:
    """Without `when` most of what has happened is in closed days."""
    first, steps, later = happened
    store = store_of(engine, stacks)
    store.ingest(first)
    store.rollup(4)
    follow(engine, store, steps)
    if when is None:
        store.roll_all()
        compact(engine, LATE, most_rows=inf)
        low, high = CLOSED
    else:
        start, hours, shift = when
        low, high = start * HOUR + shift, (start + hours) * HOUR + shift
    follow(engine, store, later)
    for select_ in ("", '{application="a"}'):
        selection = minutes(low, high, campaign=store.campaign, select=select_)
        plain = queries.ask(TableQuestion(selection, ("function",), PAGES[0]))
        if plain.totals.path != "chunks":
            check_alike(queries, selection, by_function=None)
            check_applications(queries, selection)


def follow(engine: Engine, store: RolledStore, steps: Any) -> None:
    for step, argument in steps:
        match step:
            case "ingest":
                store.ingest(argument)
            case "reprocess":
                store.ingest_again(*argument)
            case "roll":
                store.rollup(argument)
            case _:
                with engine.begin() as connection:
                    FactWriter(connection).alias(store.functions[argument], store.functions[WORK])


def test_what_has_names_and_callers_is_answered_without_stacks(engine: Engine, queries: QueryEngine) -> None:
    store = store_of(engine, [(MAIN, WORK), (MAIN, WORK, MAIN, KERNEL), (MAIN,)])
    store.ingest(seen((0, 3), (1, 5), (2, 7)))
    store.roll_all()
    selection = minutes(*WHEN, campaign=store.campaign)
    with patch("storage.query.cells.rollup_scan.RollupScan.observed", side_effect=AssertionError):
        found = asked(queries, selection, PAGES[0])
    main, work, kernel = (store.functions[f] for f in (MAIN, WORK, KERNEL))
    unit = 5 * PERIODS[0]
    assert {f: (own // unit, total // unit) for f, (own, total) in sums(found).items()} == {
        main: (7, 20),  # a stack with it twice counts once
        work: (3, 13),
        kernel: (10, 10),
    }
    check_alike(queries, selection, by_function=True)


def test_what_ingested_since_is_in_the_next_answer_though_cells_are_kept(
    engine: Engine, queries: QueryEngine
) -> None:
    """Hours and days gain visits and lose them, and closed days are built again."""
    store = store_of(engine, [(MAIN, WORK), (MAIN, KERNEL), (CUT, WORK)])
    store.ingest(seen((0, 3), (1, 5)))
    store.roll_all()
    compact(engine, LATE, most_rows=inf)
    selection = minutes(*CLOSED, campaign=store.campaign)

    def change(number: int) -> None:
        match number:
            case 0:
                store.ingest(seen((2, 4), (1, 1)))
            case 1 | 3:
                store.roll_all()
            case 2:
                store.ingest_again(0, [("a", 0, 50)])
            case _:
                compact(engine, LATE, most_rows=inf)

    for number in range(5):
        before = sums(asked(queries, selection, PAGES[0], by_function=None))
        assert queries.caches()["decoded"].rows > 0
        change(number)
        fresh = QueryEngine(engine)
        fresh.planner = BY_CELLS
        after = asked(queries, selection, PAGES[0], by_function=None)
        expected = asked(fresh, selection, PAGES[0], by_function=None)
        fresh.close()
        check_rows(after, expected)
        check_totals(after, expected)
        assert (sums(after) == before) == (number not in {0, 2})
        check_applications(queries, selection)


def test_a_page_of_functions_that_are_rare_in_what_is_kept_is_as_exact(
    engine: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Squares are kept of the hottest functions alone; those of others are read when a page shows them."""
    monkeypatch.setattr("storage.query.cells.block_source.HOT", 1)
    store = store_of(engine, [(MAIN, WORK), (MAIN, TWIN), (MAIN, KERNEL), (OTHER,)])
    store.ingest(seen((0, 100), (1, 5), (2, 7), (3, 1)))
    store.roll_all()
    for select_, close in (("", False), ("", True), ('{application="a"}', True)):
        if close:
            compact(engine, LATE, most_rows=inf)
        selection = minutes(*(CLOSED if close else WHEN), campaign=store.campaign, select=select_)
        for most in (4096, 1):
            monkeypatch.setattr("storage.query.cells.block_source.MOST_KNOWN", most)
            check_alike(queries, selection, by_function=True)
