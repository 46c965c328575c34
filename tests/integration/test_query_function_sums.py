"""GIVEN cells that say what each function has WHEN a table asks for functions THEN it says what their stacks say."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import numpy as np
import pytest
import zstandard
from alembic import command
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, delete, func, select, update

from storage import migrate
from storage.errors import BudgetExceeded
from storage.landing.columns import pack_many
from storage.query.cells.gathered import CannotTell, Gathered
from storage.query.cells.kept import KeptBlocks
from storage.query.cells.open_blocks import OpenBlocks
from storage.query.cells.unmerged import read_visits
from storage.query.copy_binary import TooMuch
from storage.query.engine import QueryEngine
from storage.query.samples import SampleSource
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.table import TableAnswer, TableQuestion
from storage.rolling import moments_codec, weighted
from storage.rolling.compact import compact
from storage.rolling.moments_codec import Unpacked
from storage.schema import roll, roll_built, roll_weighted
from tests.facts import FactWriter
from tests.rolled_store import PERIODS, RolledStore, Seen

pytestmark = pytest.mark.integration

MIDNIGHT = datetime(2026, 11, 18, 0, 0, tzinfo=UTC)
SIZES = {"east": 100, "west": 40}
HOUR = 60
DAY = 24 * HOUR
MAIN, WORK, TWIN, NAMELESS, OTHER, KERNEL, CUT, LEFT_OUT = range(8)
TOGETHER = (TWIN, NAMELESS, OTHER)
"""What may become `work`."""
LATE = datetime(2026, 11, 27, tzinfo=UTC)
"""The buckets of four days with all visits are closed, and none of more days."""
AFTER_ALL = datetime(2027, 2, 27, tzinfo=UTC)
"""The buckets of more days are closed too."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC).toordinal()
CLOSED = (-4 * DAY, 7 * DAY)
"""Minutes with those buckets."""

a_stack = st.lists(st.integers(0, 7), min_size=1, max_size=5).map(tuple)
"""Functions and markers in any order, some of them more than once."""


def functions(write: FactWriter) -> list[int]:
    key = uuid4().hex
    return [
        write.function("main", binary="prog"),
        write.function("work", binary="prog", file="w.c"),
        write.function("work.cold", binary="prog", status=2, start=(key, 1)),
        write.function("[prog]", binary="prog", status=1, start=(key, 2)),
        write.function("[other]", binary="other", status=0, start=(key, 3)),
        write.function("sys_read", binary="[kernel]", status=2, kind=1),
        write.function("[stack: cut short]", kind=2),
        write.function("[frames left out]", kind=2),
    ]


@pytest.fixture(autouse=True)
def cells_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.query.cells.worth.VISITS_A_CELL", 0)


@pytest.fixture
def queries(engine: Engine) -> Iterator[QueryEngine]:
    made = QueryEngine(engine)
    yield made
    made.close()


def store_of(engine: Engine, stacks: Sequence[Sequence[int]]) -> RolledStore:
    return RolledStore(
        engine, f"c{uuid4().hex}", sizes=SIZES, functions=functions, stacks=stacks, midnight=MIDNIGHT
    )


def minutes(start: int, end: int, **more: str) -> Selection:
    bounds = [(MIDNIGHT + timedelta(minutes=m)).isoformat() for m in (start, end)]
    return parse_selection(start=bounds[0], end=bounds[1], **more)


@contextmanager
def counting_stacks() -> Iterator[list[int]]:
    """How often samples were made of the cells' stacks."""
    made = [0]
    merged = SampleSource.merged

    def counted(*args: Any) -> Any:
        made[0] += 1
        return merged(*args)

    with patch.object(SampleSource, "merged", counted):
        yield made


def asked(
    queries: QueryEngine, selection: Selection, page: Page, *, by_function: bool | None = True
) -> TableAnswer:
    """The answer; by the functions' own sums, by stacks, or by any (None)."""
    with counting_stacks() as made:
        found = queries.ask(TableQuestion(selection, ("function",), page))
    if by_function is not None:
        assert made[0] == (not by_function)
    return found


PAGES = (
    Page(Sort.SELF_DESC, 100),
    Page(Sort.TOTAL_DESC, 2, 1),
    Page(Sort.TOTAL, 3),
    Page(Sort.NAME, 4, 1),
    Page(Sort.SELF, 2, find="WORK"),
    Page(Sort.NAME_DESC, 3, find_regex="^[mw]"),
)


def check_alike(queries: QueryEngine, selection: Selection, *, by_function: bool | None) -> None:
    """Both ways to answer say the same, page by page, and the chunks what they have of it."""
    for page in PAGES:
        found = asked(queries, selection, page, by_function=by_function)
        with patch("storage.query.function_samples.sums_of", return_value=None):
            expected = asked(queries, selection, page, by_function=False)
        check_rows(found, expected)
        check_totals(found, expected)
    with patch("storage.query.cells.planner.plan", return_value=None):
        chunks = queries.ask(TableQuestion(selection, ("function",), PAGES[0]))
    found = asked(queries, selection, PAGES[0], by_function=by_function)
    assert sums(found) == sums(chunks)
    assert found.totals.complete == pytest.approx(chunks.totals.complete)
    assert found.totals.symbolized == pytest.approx(chunks.totals.symbolized)
    assert found.totals.leaf_symbolized == pytest.approx(chunks.totals.leaf_symbolized)


def check_rows(found: TableAnswer, expected: TableAnswer) -> None:
    """The last digits of estimates differ: cells are added up in another order."""
    one, two = found.table, expected.table
    assert (one.rows_total, one.remainder_rows, one.remainder_self) == (
        two.rows_total,
        two.remainder_rows,
        two.remainder_self,
    )
    assert one.remainder_share == pytest.approx(two.remainder_share, rel=1e-9, abs=1e-12)
    assert [row.function_id for row in one.rows] == [row.function_id for row in two.rows]
    for row, other in zip(one.rows, two.rows, strict=True):
        assert (row.key, row.self, row.total) == (other.key, other.self, other.total)
        assert (row.visits, row.machines) == (other.visits, other.machines)
        assert (row.self_share, row.total_share) == pytest.approx(
            (other.self_share, other.total_share), rel=1e-9, abs=1e-12
        )
        assert estimates(row) == pytest.approx(estimates(other), rel=1e-9, abs=1e-9)


def check_totals(found: TableAnswer, expected: TableAnswer) -> None:
    for name in ("samples", "units", "machines", "visits", "profiles", "path"):
        assert getattr(found.totals, name) == getattr(expected.totals, name), name
    assert found.totals.coverage == expected.totals.coverage
    for name in ("kept", "symbolized", "leaf_symbolized", "complete"):
        assert getattr(found.totals, name) == pytest.approx(getattr(expected.totals, name), rel=1e-12), name
    assert interval(found.totals.estimate) == pytest.approx(interval(expected.totals.estimate), rel=1e-9)


def check_applications(queries: QueryEngine, selection: Selection) -> None:
    """A table by application says without its stacks what it says with them, and what each function's sums say together."""
    question = TableQuestion(selection, ("application",), PAGES[0])
    with counting_stacks() as made:
        found = queries.ask(question)
    assert made[0] == 0
    with (
        patch("storage.query.application_samples.tell", side_effect=CannotTell),
        counting_stacks() as made,
    ):
        expected = queries.ask(question)
    assert made[0] == 1
    check_totals(found, expected)
    check_rows(found, expected)


def estimates(row: Any) -> list[float]:
    found = []
    for one in (row.own_estimate, row.total_estimate):
        found += [*interval(one.share), *interval(one.units)]
    return found


def interval(found: Any) -> tuple[float, float, float]:
    return found.value, found.lo, found.hi


def sums(answer: TableAnswer) -> dict[int | None, tuple[int, int]]:
    return {row.function_id: (row.self, row.total) for row in answer.table.rows}


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
    st.tuples(st.just("land"), st.lists(a_visit, min_size=1, max_size=5)),
    st.tuples(st.just("land again"), st.tuples(st.integers(0, 50), st.lists(a_fact, max_size=4))),
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
    store.land(first)
    store.roll(4)
    follow(engine, store, steps)
    if when is None:
        store.roll_all()
        compact(engine, LATE)
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
            case "land":
                store.land(argument)
            case "land again":
                store.land_again(*argument)
            case "roll":
                store.roll(argument)
            case _:
                with engine.begin() as connection:
                    FactWriter(connection).alias(store.functions[argument], store.functions[WORK])


def seen(*facts: tuple[int, int]) -> list[Seen]:
    """Visits of two days that each bring these (stack, samples), every second one with twice the period."""
    brought = tuple(("a", stack, samples) for stack, samples in facts)
    return [Seen(hour * HOUR + 5, "east", 0.1, 5.0, brought) for hour in (25, 26, 27, 50, 51)]


WHEN = (24 * HOUR, 52 * HOUR)


def test_what_has_names_and_callers_is_answered_without_stacks(engine: Engine, queries: QueryEngine) -> None:
    store = store_of(engine, [(MAIN, WORK), (MAIN, WORK, MAIN, KERNEL), (MAIN,)])
    store.land(seen((0, 3), (1, 5), (2, 7)))
    store.roll_all()
    selection = minutes(*WHEN, campaign=store.campaign)
    with patch("storage.query.cells.gathered.Gathered.observed", side_effect=AssertionError):
        found = asked(queries, selection, PAGES[0])
    main, work, kernel = (store.functions[f] for f in (MAIN, WORK, KERNEL))
    unit = 5 * PERIODS[0]
    assert {f: (own // unit, total // unit) for f, (own, total) in sums(found).items()} == {
        main: (7, 20),  # a stack with it twice counts once
        work: (3, 13),
        kernel: (10, 10),
    }
    check_alike(queries, selection, by_function=True)


def test_what_landed_since_is_in_the_next_answer_though_cells_are_kept(
    engine: Engine, queries: QueryEngine
) -> None:
    """Hours and days gain visits and lose them, and closed days are built again."""
    store = store_of(engine, [(MAIN, WORK), (MAIN, KERNEL), (CUT, WORK)])
    store.land(seen((0, 3), (1, 5)))
    store.roll_all()
    compact(engine, LATE)
    selection = minutes(*CLOSED, campaign=store.campaign)

    def change(number: int) -> None:
        match number:
            case 0:
                store.land(seen((2, 4), (1, 1)))
            case 1 | 3:
                store.roll_all()
            case 2:
                store.land_again(0, [("a", 0, 50)])
            case _:
                compact(engine, LATE)

    for number in range(5):
        before = sums(asked(queries, selection, PAGES[0], by_function=None))
        assert queries.caches()["cells"].rows > 0
        change(number)
        fresh = QueryEngine(engine)
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
    store.land(seen((0, 100), (1, 5), (2, 7), (3, 1)))
    store.roll_all()
    for select_, close in (("", False), ("", True), ('{application="a"}', True)):
        if close:
            compact(engine, LATE)
        selection = minutes(*(CLOSED if close else WHEN), campaign=store.campaign, select=select_)
        for most in (4096, 1):
            monkeypatch.setattr("storage.query.cells.block_source.MOST_KNOWN", most)
            check_alike(queries, selection, by_function=True)


def test_functions_that_became_one_are_added_up_where_no_stack_has_two(
    engine: Engine, queries: QueryEngine
) -> None:
    store = store_of(engine, [(MAIN, WORK), (MAIN, TWIN), (MAIN, NAMELESS, KERNEL)])
    store.land(seen((0, 3), (1, 5), (2, 7)))
    store.roll_all()
    with engine.begin() as connection:
        for nameless in (TWIN, NAMELESS):
            FactWriter(connection).alias(store.functions[nameless], store.functions[WORK])
    selection = minutes(*WHEN, campaign=store.campaign)
    found = sums(asked(queries, selection, PAGES[0]))
    own, total = found[store.functions[WORK]]
    assert (own, total) == (13 * 5 * PERIODS[0], 20 * 5 * PERIODS[0])
    check_alike(queries, selection, by_function=True)


@pytest.mark.parametrize("closed", [False, True])
def test_functions_that_became_one_and_stand_in_one_stack_count_it_once(
    engine: Engine, queries: QueryEngine, *, closed: bool
) -> None:
    store = store_of(engine, [(MAIN, WORK, KERNEL, TWIN), (MAIN, TWIN), (KERNEL,)])
    store.land(seen((0, 3), (1, 5), (2, 7)))
    store.roll_all()
    if closed:
        compact(engine, LATE)
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
    store.land(seen((0, 3)))
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


TOO_MUCH = BudgetExceeded("The question needs more.", limit="memory")


def test_what_does_not_fit_by_function_is_answered_by_stacks_and_else_by_visits(
    engine: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KeptBlocks, "has", lambda *_: False)  # as if all was asked for the first time
    store = store_of(engine, [(MAIN, WORK), (CUT, OTHER)])
    store.land(seen((0, 3), (1, 5)))
    store.roll_all()
    selection = minutes(*WHEN, campaign=store.campaign)
    expected = sums(asked(queries, selection, PAGES[0]))
    for name in ("_ONE_BYTES", "_MANY_BYTES", "_PAIR_BYTES"):
        with (
            patch.object(moments_codec, name, 1 << 40),
            patch.object(Unpacked, "amounts", side_effect=AssertionError),
        ):
            assert sums(asked(queries, selection, PAGES[0], by_function=None)) == expected
        monkeypatch.setattr(moments_codec, name, 1 << 40)
    assert sums(asked(queries, selection, PAGES[0], by_function=False)) == expected
    with patch.object(SampleSource, "merged", side_effect=TOO_MUCH):
        found = queries.ask(TableQuestion(selection, ("function",), PAGES[0]))
    assert found.totals.path == "chunks"
    assert sums(found) == expected


@pytest.mark.parametrize(("error", "stacks"), [(TOO_MUCH, 1), (TooMuch("It is too much."), 0)])
def test_what_does_not_fit_when_the_page_is_known_is_answered_otherwise(
    engine: Engine, queries: QueryEngine, error: Exception, stacks: int
) -> None:
    """Which depends on what is kept: nobody is to be refused for that."""
    store = store_of(engine, [(MAIN, WORK), (CUT, OTHER)])
    store.land(seen((0, 3), (1, 5)))
    store.roll_all()
    selection = minutes(*WHEN, campaign=store.campaign)
    expected = sums(asked(queries, selection, PAGES[0]))
    with patch.object(OpenBlocks, "of_functions", side_effect=error), counting_stacks() as made:
        found = queries.ask(TableQuestion(selection, ("function",), PAGES[0]))
    assert made[0] == stacks
    assert sums(found) == expected


def test_time_that_is_over_is_no_reason_to_try_otherwise(engine: Engine, queries: QueryEngine) -> None:
    store = store_of(engine, [(MAIN, WORK)])
    store.land(seen((0, 3)))
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
    store.land(seen((0, 3), (1, 5)))
    store.roll_all()
    selection = minutes(*WHEN, campaign=store.campaign)
    expected = sums(asked(queries, selection, PAGES[0]))
    with patch.object(Gathered, "observed", side_effect=TOO_MUCH):
        assert sums(asked(queries, selection, PAGES[0], by_function=False)) == expected


def test_stacks_are_read_of_cells_only_where_they_are_worth_it(
    engine: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.query.cells.worth.VISITS_A_CELL", 3.0)
    monkeypatch.setattr("storage.query.cells.worth.FEW_VISITS", 0)
    store = store_of(engine, [(MAIN, WORK, TWIN), (KERNEL,)])
    store.land(seen((0, 3), (1, 5)))
    store.roll_all()
    selection = minutes(*WHEN, campaign=store.campaign)
    assert asked(queries, selection, PAGES[0]).totals.path != "chunks"
    with engine.begin() as connection:
        FactWriter(connection).alias(store.functions[TWIN], store.functions[WORK])
    found = queries.ask(TableQuestion(selection, ("function",), PAGES[0]))
    assert found.totals.path == "chunks"
    unit = 5 * PERIODS[0]
    assert sums(found)[store.functions[WORK]] == (3 * unit, 3 * unit)


def test_a_name_that_comes_between_two_answers_is_in_the_second(engine: Engine, queries: QueryEngine) -> None:
    store = store_of(engine, [(MAIN, NAMELESS), (CUT, WORK), (LEFT_OUT, MAIN, OTHER, KERNEL)])
    store.land(seen((0, 3), (1, 5), (2, 7)))
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


def test_closed_days_whose_cells_do_not_count_by_function_are_answered_by_stacks(
    engine: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those are that were built before cells did."""
    store = store_of(engine, [(MAIN, WORK), (MAIN, KERNEL)])
    store.land(seen((0, 3), (1, 5)))
    store.roll_all()
    compact(engine, LATE)
    selection = minutes(*CLOSED, campaign=store.campaign)
    check_alike(queries, selection, by_function=True)
    expected = sums(asked(queries, selection, PAGES[0]))
    written_before(engine)
    # What is kept has been read, and is not asked about before its rows are; else it is known before moments are read, or unpacked.
    assert sums(asked(queries, selection, PAGES[0], by_function=False)) == expected
    with (
        patch.object(KeptBlocks, "has", return_value=False),
        patch("storage.query.function_samples.sums_of", side_effect=AssertionError),
        patch("storage.query.cells.gathered.read_visits", wraps=read_visits) as read,
    ):
        found = asked(queries, selection, PAGES[0], by_function=False)
    assert read.call_count == 1
    assert sums(found) == expected


def written_before(engine: Engine) -> None:
    """Have all closed days as an older version wrote them."""
    with engine.begin() as connection:
        for row in connection.execute(select(roll_weighted).where(roll_weighted.c.moments.is_not(None))):
            connection.execute(
                update(roll_weighted)
                .where(
                    *(c == row._mapping[c.name] for c in roll_weighted.primary_key.columns),
                )
                .values(moments=_as_before(bytes(row.moments)))
            )


def apply_again(engine: Engine) -> None:
    """The last revision of the schema, taken back and applied."""
    with engine.begin() as connection:
        config = migrate._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "0002")
        command.upgrade(config, "0003")


def buckets(engine: Engine) -> list[tuple[int, int]]:
    """Levels and buckets that say that they hold all there is."""
    with engine.connect() as connection:
        found = connection.execute(select(roll_built.c.level, roll_built.c.bucket).distinct())
        return sorted((row.level, row.bucket) for row in found)


def test_the_upgrade_has_closed_days_built_again_that_do_not_count_by_function(
    engine: Engine, queries: QueryEngine
) -> None:
    store = store_of(engine, [(MAIN, WORK), (MAIN, KERNEL)])
    store.land(seen((0, 3), (1, 5)))
    store.roll_all()
    compact(engine, AFTER_ALL)
    selection = minutes(*CLOSED, campaign=store.campaign)
    expected = sums(asked(queries, selection, PAGES[0]))
    built = buckets(engine)
    assert {level for level, _ in built} == {1, 2, 3}
    apply_again(engine)
    assert buckets(engine) == built, "nothing is built again that counts"
    written_before(engine)
    apply_again(engine)
    assert buckets(engine) == []
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(roll_weighted)) == 0
    assert sums(asked(queries, selection, PAGES[0])) == expected
    compact(engine, AFTER_ALL)
    assert buckets(engine) == built
    assert sums(asked(queries, selection, PAGES[0])) == expected


def test_the_upgrade_leaves_closed_days_whose_own_cells_are_gone(engine: Engine) -> None:
    store = store_of(engine, [(MAIN, WORK)])
    store.land(seen((0, 3)))
    store.roll_all()
    compact(engine, AFTER_ALL)
    built = buckets(engine)
    written_before(engine)
    with engine.begin() as connection:
        connection.execute(
            delete(roll).where(roll.c.level == 0, roll.c.bucket == MIDNIGHT.toordinal() + 1 - EPOCH)
        )
    apply_again(engine)
    assert buckets(engine) == built


def _as_before(blob: bytes) -> bytes:
    """A cell's moments as they were written before what is observed was kept."""
    parts = weighted.decode([blob])
    head = list(weighted.HEAD.unpack_from(blob))
    body = zstandard.decompress(blob[weighted.HEAD.size + head[-1] :])
    frame = zstandard.compress(body[: 80 * len(parts.function)])  # machine bits stood beside the functions
    steps = [b - a for a, b in zip([0, *parts.function.tolist()], parts.function.tolist(), strict=False)]
    columns = (steps, parts.visits, parts.row_machines)
    (packed,) = pack_many(columns, parts.count)
    head[0], head[-1] = 1, len(packed)
    return weighted.HEAD.pack(*head) + packed + frame
