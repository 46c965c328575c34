"""GIVEN functions that get a better name WHEN a table asks for functions THEN nothing is counted twice."""

from math import inf
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from sqlalchemy import Engine

from storage.query.query_engine import QueryEngine
from storage.query.samples import SampleSource
from storage.rollup.compact import compact
from tests.fact_writer import FactWriter
from tests.integration.function_sums.asking import (
    CLOSED,
    CUT,
    KERNEL,
    LATE,
    LEFT_OUT,
    MAIN,
    NAMELESS,
    OTHER,
    PAGES,
    TWIN,
    WHEN,
    WORK,
    asked,
    check_alike,
    minutes,
    seen,
    store_of,
    sums,
)
from tests.rollup_store import PERIODS

pytestmark = pytest.mark.integration


def test_functions_that_became_one_are_added_up_where_no_stack_has_two(
    engine: Engine, queries: QueryEngine
) -> None:
    store = store_of(engine, [(MAIN, WORK), (MAIN, TWIN), (MAIN, NAMELESS, KERNEL)])
    store.ingest(seen((0, 3), (1, 5), (2, 7)))
    store.roll_all()
    with engine.begin() as connection:
        for nameless in (TWIN, NAMELESS):
            FactWriter(connection).alias(store.functions[nameless], store.functions[WORK])
    selection = minutes(*WHEN, campaign=store.campaign)
    found = sums(asked(queries, selection, PAGES[0]))
    own, total = found[store.functions[WORK]]
    assert (own, total) == (13 * 5 * PERIODS[0], 20 * 5 * PERIODS[0])
    check_alike(queries, selection, by_function=True)


@pytest.mark.slow
@pytest.mark.parametrize("closed", [False, True])
def test_functions_that_became_one_and_stand_in_one_stack_count_it_once(
    engine: Engine, queries: QueryEngine, *, closed: bool
) -> None:
    store = store_of(engine, [(MAIN, WORK, KERNEL, TWIN), (MAIN, TWIN), (KERNEL,)])
    store.ingest(seen((0, 3), (1, 5), (2, 7)))
    store.roll_all()
    if closed:
        compact(engine, LATE, most_rows=inf)
    with engine.begin() as connection:
        FactWriter(connection).alias(store.functions[TWIN], store.functions[WORK])
    selection = minutes(*(CLOSED if closed else WHEN), campaign=store.campaign)
    found = asked(queries, selection, PAGES[0], by_function=False)
    assert sums(found)[store.functions[WORK]] == (13 * 5 * PERIODS[0], 13 * 5 * PERIODS[0])
    check_alike(queries, selection, by_function=False)


def test_a_better_name_that_comes_while_stacks_are_read_counts_nothing_twice(
    engine: Engine, queries: QueryEngine
) -> None:
    """Another query renames both between what functions are called here and the first look at their stack."""
    store = store_of(engine, [(MAIN, TWIN, KERNEL, NAMELESS)])
    main, work, twin, nameless = (store.functions[f] for f in (MAIN, WORK, TWIN, NAMELESS))
    store.ingest(seen((0, 3)))
    store.roll_all()
    with engine.begin() as connection:
        FactWriter(connection).alias(nameless, twin)
    covering = SampleSource.covering
    renamed: list[bool] = []

    def renames(self: SampleSource, connection: Any, stacks: Any) -> Any:
        if not renamed:
            with engine.begin() as other:
                for function in (twin, nameless):
                    FactWriter(other).alias(function, work)
            with engine.connect() as other:
                self.functions.look_again(other, np.array([twin]))
            renamed.append(True)
        return covering(self, connection, stacks)

    with patch.object(SampleSource, "covering", renames):
        found = asked(queries, minutes(*WHEN, campaign=store.campaign), PAGES[0], by_function=False)
    assert renamed
    unit = 5 * 3 * PERIODS[0]
    assert sums(found)[work] == (unit, unit)
    assert sums(found)[main] == (0, unit)


def test_a_name_that_comes_between_two_answers_is_in_the_second(engine: Engine, queries: QueryEngine) -> None:
    store = store_of(engine, [(MAIN, NAMELESS), (CUT, WORK), (LEFT_OUT, MAIN, OTHER, KERNEL)])
    store.ingest(seen((0, 3), (1, 5), (2, 7)))
    store.roll_all()
    selection = minutes(*WHEN, campaign=store.campaign)
    before = asked(queries, selection, PAGES[0])
    assert before.totals.symbolized == pytest.approx(10 / 20)
    assert before.totals.complete == pytest.approx(3 / 20)
    with engine.begin() as connection:
        FactWriter(connection).alias(store.functions[NAMELESS], store.functions[WORK])
    after = asked(queries, selection, PAGES[0])
    assert after.totals.symbolized == pytest.approx(13 / 20)
    assert store.functions[NAMELESS] not in sums(after)
    check_alike(queries, selection, by_function=True)
