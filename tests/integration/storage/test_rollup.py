"""Rolling, taking out and rebuilding, against cells that are added up by hand."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from threading import Barrier, Thread
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, Table, func, select, text, update

from storage import partitions
from storage.errors import CorruptChunk
from storage.rollup import apply_queue, cell_rows, cell_store, exposures, queue_entries, rollup_days
from storage.rollup import daily as folding
from storage.rollup.apply_queue import RollupWriter
from storage.rollup.cubes import DAY, HOUR, day_of
from storage.rollup.daily import ROLLED_UP_AFTER, roll_up_days
from storage.rollup.day_locks import lock_days
from storage.rollup.errors import DayGone
from storage.rollup.hourly_retention import drop_hours
from storage.rollup.rebuild import rebuild
from storage.schema import rollup as roll_table
from storage.schema import rollup_queue, rollup_retraction
from tests.cell_facts import DAY_0, CellFacts, Seen, assert_right, clear, expected, stored

pytestmark = pytest.mark.integration

FUNCTIONS = 6
DAYS = (DAY_0, DAY_0 + 1)
OVER = datetime.fromtimestamp((DAY_0 + 1) * 86400, UTC) + ROLLED_UP_AFTER
"""The first of them is over for long enough."""


@pytest.fixture
def facts(engine: Engine) -> CellFacts:
    made = CellFacts(engine, days=DAYS)
    made.stacks([(1,), (1, 2), (1, 2, 1), (3, 2, 4), (1, 3, 5, 6), (6,), (6, 6, 6), (2, 5)])
    return made


STACKS = st.dictionaries(st.integers(1, 8), st.integers(1, 40), min_size=1, max_size=4)
PROFILES = st.lists(
    st.builds(
        Seen,
        STACKS,
        application=st.integers(1, 2),
        version=st.integers(3, 4),
        period=st.sampled_from([10, 20, 50]),  # so that Σx⁴ in multiples of 10 stays below 2⁵³: exact
        sample_type=st.integers(1, 2),
        stacks=st.sampled_from([True, True, False]),
    ),
    max_size=3,
)
WATCHED = st.lists(
    st.tuples(st.integers(1, 2), st.booleans(), st.sampled_from([0.5, 5.0, 1.25])), min_size=1, max_size=2
)
VISITS = st.fixed_dictionaries(
    {
        "hour": st.sampled_from([DAY_0 * 24, DAY_0 * 24 + 1, DAY_0 * 24 + 23, DAY_0 * 24 + 24]),
        "machine_id": st.integers(1, 5),
        "stratum_id": st.integers(1, 2),
        "campaign_id": st.integers(1, 2),
        "utilisation": st.sampled_from([None, 0.1, 0.9]),
    }
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("new"), VISITS, PROFILES, WATCHED),
        st.tuples(st.just("again"), st.integers(0, 100), PROFILES),
        st.tuples(st.just("rollup"), st.integers(1, 4)),
        st.tuples(st.just("rebuild"), st.sampled_from(DAYS), st.sampled_from([None, 1, 2])),
        st.tuples(st.just("fold"), st.integers(0, 2)),
    ),
    min_size=3,
    max_size=12,
)


@pytest.mark.slow
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_cells_are_what_the_merged_visits_say_whatever_happens(
    engine: Engine, facts: CellFacts, steps: list[Any]
) -> None:
    clear(engine)
    writer = RollupWriter(engine)
    ingested: list[tuple[UUID, Any]] = []
    for step in steps:
        match step:
            case ("new", where, profiles, watched):
                ingested.append((facts.visit(**where), watched))
                facts.ingest(ingested[-1][0], profiles, watched=watched)
            case ("again", n, profiles) if ingested:
                id_, watched = ingested[n % len(ingested)]
                facts.ingest(id_, profiles, watched=watched, again=True)
            case ("rollup", batch):
                writer.rollup(batch=batch)
            case ("rebuild", day, application):
                rebuild(engine, day_of(day), application)
            case ("fold", after):
                roll_up_days(engine, OVER + timedelta(days=after))
        assert_right(engine, bits=False)
    while writer.rollup().entries:
        pass
    assert_right(engine, bits=False)
    assert count(engine, rollup_queue) == count(engine, rollup_retraction) == 0
    for day in DAYS:
        rebuild(engine, day_of(day))
    assert_right(engine)


def test_an_entry_of_a_dropped_day_goes_and_leaves_the_cells(engine: Engine, facts: CellFacts) -> None:
    id_ = facts.visit(DAY_0 * 24)
    facts.ingest(id_, [Seen({1: 3})])
    apply_queue.rollup(engine)
    facts.ingest(id_, [Seen({2: 3})], again=True)
    with engine.begin() as connection:
        partitions.drop(connection, day_of(DAY_0 + 1))
    before = cells(engine)
    rolled = apply_queue.rollup(engine)
    assert (rolled.entries, rolled.expired) == (2, 2)
    assert cells(engine) == before
    assert count(engine, rollup_queue) == count(engine, rollup_retraction) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("module", "name"), [(queue_entries, "read_batch"), (cell_store, "add"), (exposures, "add"), (rollup_days, "change"), (queue_entries, "discard_replaced")])  # fmt: skip
def test_a_crash_before_the_commit_leaves_everything_to_the_next(
    engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch, module: object, name: str
) -> None:
    id_ = facts.visit(DAY_0 * 24)
    facts.ingest(id_, [Seen({1: 3})])
    apply_queue.rollup(engine)
    facts.ingest(id_, [Seen({1: 2, 3: 9})], again=True)
    work = getattr(module, name)

    def dies(*args: object, **kwargs: object) -> None:
        work(*args, **kwargs)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, name, dies)
        with pytest.raises(KeyboardInterrupt):
            apply_queue.rollup(engine)
    assert count(engine, rollup_queue) == 2
    assert_right(engine)
    assert apply_queue.rollup(engine).entries == 2
    assert_right(engine)


@pytest.mark.slow
def test_two_rollers_a_rebuild_and_a_fold_at_once_count_every_visit_once(
    engine: Engine, facts: CellFacts
) -> None:
    ids = [facts.visit(hour, machine_id=1 + hour % 5) for hour in range(DAY_0 * 24, DAY_0 * 24 + 30)]
    for n, id_ in enumerate(ids):
        facts.ingest(id_, [Seen({1 + n % 8: n + 1, 1 + (n + 3) % 8: 2} if n % 8 != 5 else {1: 1})])
    apply_queue.rollup(engine, batch=4)  # the day has begun, so it can be folded
    start = Barrier(5)
    failures: list[BaseException] = []
    folded: list[int] = []

    def work(do: Callable[[], object]) -> None:
        try:
            start.wait()
            do()
        except BaseException as error:  # noqa: BLE001 - told to the test's own thread
            failures.append(error)

    def roll_all() -> None:
        writer = RollupWriter(engine)
        while writer.rollup(batch=3).entries:
            pass

    def ingest_again() -> None:
        for id_ in ids[::3]:
            facts.ingest(id_, [Seen({2: 5})], again=True)

    works = [
        roll_all,
        roll_all,
        ingest_again,
        lambda: [rebuild(engine, day_of(DAY_0)) for _ in range(4)],
        lambda: folded.extend(roll_up_days(engine, OVER)),
    ]
    threads = [Thread(target=work, args=(do,)) for do in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert folded == [DAY_0]
    assert_right(engine, bits=False)
    roll_all()
    assert_right(engine, bits=False)
    assert count(engine, rollup_queue) == 0


def test_a_day_folded_while_its_batch_is_summed_gains_the_batch_too(
    engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (facts.visit(DAY_0 * 24 + hour) for hour in (0, 5))
    facts.ingest(first, [Seen({1: 3, 2: 1})])
    apply_queue.rollup(engine)
    facts.ingest(second, [Seen({2: 4})])
    folded: list[int] = []

    def fold_first(connection: Connection, touched: list[int]) -> None:
        folded.extend(roll_up_days(engine, OVER))
        lock_days(connection, touched)

    monkeypatch.setattr(apply_queue, "lock_days", fold_first)
    assert apply_queue.rollup(engine).entries == 1
    assert folded == [DAY_0]
    assert_right(engine)


def test_a_day_is_folded_in_parts_of_bounded_size(
    engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(12):
        seen = [Seen({1 + n % 8: n + 1, 1 + (n + 3) % 8: 2}, application=1 + n % 2), Seen({5: 1, 6: 2})]
        facts.ingest(facts.visit(DAY_0 * 24 + n % 4, machine_id=1 + n % 5, stratum_id=1 + n % 2), seen)
    apply_queue.rollup(engine)
    read: list[int] = []
    read_rows = cell_rows.read

    def counted(*args: Any, **kwargs: Any) -> Any:
        columns, blobs = read_rows(*args, **kwargs)
        read.append(len(columns["k1"]))
        return columns, blobs

    monkeypatch.setattr(folding, "_PAIRS", 1)
    monkeypatch.setattr(cell_rows, "read", counted)
    assert roll_up_days(engine, OVER) == (DAY_0,)
    assert set(read) == {1}, "no hour of a key together with another"
    assert len(read) == sum(key[6] == HOUR for key in stored(engine)[0])
    monkeypatch.undo()
    assert_right(engine)


def test_what_ingests_on_a_day_without_its_hours_goes_into_the_cells_of_the_day_alone(
    engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is made again for it, and hours that were dropped do not come back."""
    ids = [facts.visit(DAY_0 * 24 + n, machine_id=1 + n) for n in range(3)]
    for id_ in ids[:2]:
        facts.ingest(id_, [Seen({1: 3, 2: 1})])
    apply_queue.rollup(engine)
    with engine.begin() as connection:
        assert drop_hours(connection, day_of(DAY_0 + 1)) == 0, (
            "they are all there is until the day has a daily rollup"
        )
    roll_up_days(engine, OVER)
    with engine.begin() as connection:
        assert drop_hours(connection, day_of(DAY_0)) == 0
        assert drop_hours(connection, day_of(DAY_0 + 1)) > 0
    facts.ingest(ids[0], [Seen({2: 5})], again=True)
    facts.ingest(ids[2], [Seen({4: 5})])
    with monkeypatch.context() as patched:
        patched.setattr(apply_queue, "rebuild", None)
        assert apply_queue.rollup(engine).entries == 3
    assert_day_alone(engine)
    rebuild(engine, day_of(DAY_0))
    assert_day_alone(engine)


def assert_day_alone(engine: Engine) -> None:
    found, wanted = stored(engine)[0], expected(engine)[0]
    assert found.keys() == {key for key in wanted if key[6] == DAY}
    for key, cell in found.items():
        assert (cell.facts, cell.visits, cell.total) == (
            wanted[key].facts,
            wanted[key].visits,
            wanted[key].total,
        )


def test_a_damaged_cell_is_rebuilt_and_a_damaged_fact_is_passed_by(engine: Engine, facts: CellFacts) -> None:
    for n in range(4):
        facts.ingest(facts.visit(DAY_0 * 24, machine_id=1 + n), [Seen({1: 3, 2: 1})])
    apply_queue.rollup(engine, batch=2)
    with engine.begin() as connection:
        connection.execute(update(roll_table).values(data=b"\x09"))
    assert apply_queue.rollup(engine, batch=1).entries == 1
    assert_right(engine)
    bad = facts.visit(DAY_0 * 24, machine_id=5)
    facts.ingest(bad, [Seen({1: 3})])
    with engine.begin() as connection:
        connection.execute(
            text(
                "UPDATE chunk c SET data = 'x' FROM profile p WHERE p.profile_id = c.profile_id AND visit_id = :v"
            ),
            {"v": bad},
        )
    while apply_queue.rollup(engine).entries:
        pass
    assert count(engine, rollup_queue) == 0
    with engine.connect() as connection:
        assert (
            connection.scalar(
                select(func.sum(roll_table.c.visits)).where(roll_table.c.cube == 1, roll_table.c.level == -1)
            )
            == 4
        )


def spoil(engine: Engine, id_: UUID) -> None:
    """Damage all facts of a visit."""
    spoilt = (
        "UPDATE chunk c SET data = 'x' FROM profile p WHERE p.profile_id = c.profile_id AND visit_id = :v"
    )
    with engine.begin() as connection:
        connection.execute(text(spoilt), {"v": id_})


def test_a_damaged_fact_that_another_is_at_costs_no_healthy_visit(
    engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = (facts.visit((DAY_0 + n) * 24) for n in (0, 1))
    for id_ in (bad, good):
        facts.ingest(id_, [Seen({1: 3})])
    spoil(engine, bad)
    rebuilt = []
    with engine.connect() as other:

        def meanwhile(of: Engine, day: date, **kwargs: Any) -> Any:
            """Another roller takes the damaged entry while we rebuild."""
            rebuilt.append(day)
            queue_entries.take(other, 1)
            return rebuild(of, day, **kwargs)

        with monkeypatch.context() as patched:
            patched.setattr(apply_queue, "rebuild", meanwhile)
            assert apply_queue.rollup(engine, batch=1).entries == 0
        with engine.connect() as connection:
            assert connection.scalars(select(rollup_queue.c.visit_id)).all() == [bad, good]
        assert apply_queue.rollup(engine).entries == 1, "the healthy one is merged, not dropped"
        other.rollback()
    assert rebuilt == [day_of(DAY_0)]
    assert_right(engine)
    assert apply_queue.rollup(engine).entries == 1
    assert count(engine, rollup_queue) == 0


def test_the_day_rebuilt_is_that_of_the_damaged_entry(
    engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = (facts.visit((DAY_0 + n) * 24) for n in (0, 1))
    for id_ in (bad, good):
        facts.ingest(id_, [Seen({1: 3})])
    spoil(engine, bad)
    rebuilt = []
    read_batch = queue_entries.read_batch
    with engine.connect() as other:

        def caught(*args: Any) -> Any:
            """Another roller is at the damaged entry as soon as we have failed on it."""
            try:
                return read_batch(*args)
            except CorruptChunk:
                args[0].rollback()
                queue_entries.take(other, 1)
                raise

        def noted(of: Engine, day: date, **kwargs: Any) -> None:
            rebuilt.append(day)

        monkeypatch.setattr(queue_entries, "read_batch", caught)
        monkeypatch.setattr(apply_queue, "rebuild", noted)
        assert apply_queue.rollup(engine, batch=1).entries == 0
        other.rollback()
    assert rebuilt == [day_of(DAY_0)]
    assert count(engine, rollup_queue) == 2


def test_a_visit_too_large_for_a_cell_stays_out_and_its_neighbours_do_not(
    engine: Engine, facts: CellFacts
) -> None:
    """Its Σx⁴ is beyond what is ever read again."""
    for machine, seen in ((1, Seen({1: 3})), (2, Seen({1: 6 * 10**18}, period=1)), (3, Seen({2: 4}))):
        facts.ingest(facts.visit(DAY_0 * 24, machine_id=machine), [seen])
    while apply_queue.rollup(engine, batch=1).entries:
        pass
    with engine.connect() as connection:
        day = select(roll_table.c.visits, roll_table.c.total).where(
            roll_table.c.cube == 1, roll_table.c.level == -1
        )
        assert connection.execute(day).all() == [(2, 70)]


def test_visits_of_many_facts_are_merged_and_rebuilt_in_parts(
    engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_entries, "MOST_FACTS", 3)
    ids = [facts.visit(DAY_0 * 24, machine_id=1 + n) for n in range(3)]
    for id_, stacks in zip(ids, ({1: 1, 2: 1}, {3: 1}, {1: 1, 2: 1, 3: 1, 4: 1}), strict=True):
        facts.ingest(id_, [Seen(stacks)])
    assert [apply_queue.rollup(engine).entries for _ in range(3)] == [2, 1, 0]
    facts.ingest(ids[2], [Seen({5: 1})], again=True)
    read: list[int] = []
    read_batch = queue_entries.read_batch

    def counted(*args: Any) -> Any:
        batch = read_batch(*args)
        read.append(len(batch.stack))
        return batch

    monkeypatch.setattr(queue_entries, "read_batch", counted)
    rebuild(engine, day_of(DAY_0))
    assert sorted(read) in ([1, 2, 4], [3, 4]), "as they were before, four are alone"
    assert_right(engine)
    assert [apply_queue.rollup(engine).entries for _ in range(3)] == [1, 1, 0], "four out, then one in"
    assert_right(engine, bits=False)


def test_an_applications_cells_are_rebuilt_with_their_products_with_the_whole_event(
    engine: Engine, facts: CellFacts
) -> None:
    facts.ingest(facts.visit(DAY_0 * 24), [Seen({1: 3}), Seen({2: 4, 3: 1}, application=2)])
    apply_queue.rollup(engine)
    before = cells(engine)
    with engine.begin() as connection:
        connection.execute(update(roll_table).where(roll_table.c.k1 == 2).values(samples=99))
    rebuild(engine, day_of(DAY_0), 1)
    assert cells(engine) != before, "the other application's are left alone"
    rebuild(engine, day_of(DAY_0), 2)
    assert cells(engine) == before


def test_a_day_without_facts_is_not_rebuilt_to_nothing(engine: Engine, facts: CellFacts) -> None:
    with pytest.raises(DayGone):
        rebuild(engine, day_of(DAY_0 - 5))


def cells(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        return sorted(tuple(row) for row in connection.execute(select(roll_table)))


def count(engine: Engine, table: Table) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()
