"""GIVEN a question that functions' sums do not fit, or are not worth it WHEN it is asked THEN stacks or visits answer it."""

from unittest.mock import patch

import pytest
from sqlalchemy import Engine

from storage.errors import BudgetExceeded
from storage.query.access_path import Costs, Planner
from storage.query.cells.raw_blocks import OpenBlocks
from storage.query.cells.rollup_scan import RollupScan
from storage.query.query_engine import QueryEngine
from storage.query.samples import SampleSource
from storage.query.shapes.table import TableQuestion
from storage.rollup import unpacked_moments
from storage.rollup.unpacked_moments import Unpacked
from storage.snapshots.copy_binary import TooMuch
from storage.snapshots.decoded_cache import DecodedCache
from tests.fact_writer import FactWriter
from tests.integration.function_sums.asking import (
    CUT,
    KERNEL,
    MAIN,
    OTHER,
    PAGES,
    TOO_MUCH,
    TWIN,
    WHEN,
    WORK,
    asked,
    counting_stacks,
    minutes,
    seen,
    store_of,
    sums,
)
from tests.rollup_store import PERIODS

pytestmark = pytest.mark.integration


def test_what_does_not_fit_by_function_is_answered_by_stacks_and_else_by_visits(
    engine: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DecodedCache, "has", lambda *_: False)  # as if all was asked for the first time
    store = store_of(engine, [(MAIN, WORK), (CUT, OTHER)])
    store.ingest(seen((0, 3), (1, 5)))
    store.roll_all()
    selection = minutes(*WHEN, campaign=store.campaign)
    expected = sums(asked(queries, selection, PAGES[0]))
    for name in ("_ONE_BYTES", "_MANY_BYTES", "_PAIR_BYTES"):
        with (
            patch.object(unpacked_moments, name, 1 << 40),
            patch.object(Unpacked, "amounts", side_effect=AssertionError),
        ):
            assert sums(asked(queries, selection, PAGES[0], by_function=None)) == expected
        monkeypatch.setattr(unpacked_moments, name, 1 << 40)
    assert sums(asked(queries, selection, PAGES[0], by_function=False)) == expected
    with patch.object(SampleSource, "merged", side_effect=TOO_MUCH):
        found = queries.ask(TableQuestion(selection, ("function",), PAGES[0]))
    assert found.totals.path == "chunks"
    assert sums(found) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("error", "stacks"), [(TOO_MUCH, 1), (TooMuch("It is too much."), 0)])
def test_what_does_not_fit_when_the_page_is_known_is_answered_otherwise(
    engine: Engine, queries: QueryEngine, error: Exception, stacks: int
) -> None:
    """Which depends on what is kept: nobody is to be refused for that."""
    store = store_of(engine, [(MAIN, WORK), (CUT, OTHER)])
    store.ingest(seen((0, 3), (1, 5)))
    store.roll_all()
    selection = minutes(*WHEN, campaign=store.campaign)
    expected = sums(asked(queries, selection, PAGES[0]))
    with patch.object(OpenBlocks, "of_functions", side_effect=error), counting_stacks() as made:
        found = queries.ask(TableQuestion(selection, ("function",), PAGES[0]))
    assert made[0] == stacks
    assert sums(found) == expected


def test_time_that_is_over_is_no_reason_to_try_otherwise(engine: Engine, queries: QueryEngine) -> None:
    store = store_of(engine, [(MAIN, WORK)])
    store.ingest(seen((0, 3)))
    store.roll_all()
    late = BudgetExceeded("The question takes too long.", limit="time")
    with (
        patch("storage.query.function_samples.sums_of", side_effect=late),
        patch.object(SampleSource, "read_merged", side_effect=AssertionError),
        pytest.raises(BudgetExceeded),
    ):
        asked(queries, minutes(*WHEN, campaign=store.campaign), PAGES[0])


def test_stacks_that_observed_units_do_not_fit_for_are_read_when_the_rest_is_given_back(
    engine: Engine, queries: QueryEngine
) -> None:
    store = store_of(engine, [(MAIN, WORK), (CUT, OTHER)])
    store.ingest(seen((0, 3), (1, 5)))
    store.roll_all()
    selection = minutes(*WHEN, campaign=store.campaign)
    expected = sums(asked(queries, selection, PAGES[0]))
    with patch.object(RollupScan, "observed", side_effect=TOO_MUCH):
        assert sums(asked(queries, selection, PAGES[0], by_function=False)) == expected


def test_stacks_are_read_of_cells_only_where_they_are_worth_it(engine: Engine, queries: QueryEngine) -> None:
    queries.planner = Planner(costs=Costs(few_visits=0))
    store = store_of(engine, [(MAIN, WORK, TWIN), (KERNEL,)])
    store.ingest(seen((0, 3), (1, 5)))
    store.roll_all()
    selection = minutes(*WHEN, campaign=store.campaign)
    assert asked(queries, selection, PAGES[0]).totals.path != "chunks"
    with engine.begin() as connection:
        FactWriter(connection).alias(store.functions[TWIN], store.functions[WORK])
    found = queries.ask(TableQuestion(selection, ("function",), PAGES[0]))
    assert found.totals.path == "chunks"
    unit = 5 * PERIODS[0]
    assert sums(found)[store.functions[WORK]] == (3 * unit, 3 * unit)
