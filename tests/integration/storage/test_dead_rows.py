"""Dead rows of `rollup` are cleared after merging, without waiting for anybody, in a real PostgreSQL."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
import structlog
from sqlalchemy import Engine, event, text

from collector.rollup_job import RollupJob
from storage.database import open_engine, snapshot
from storage.errors import DatabaseBusy
from storage.rollup import dead_rows
from storage.rollup.dead_rows import FIRST_WAIT_S, LONGEST_WAIT_S, DeadRows
from tests.cell_facts import DAY_0, CellFacts, Seen, assert_right

pytestmark = pytest.mark.integration

STACKS = 700
"""So many that cells are larger than a page's row, and lie in the TOAST table."""
DAY = datetime.fromtimestamp(DAY_0 * 86400, UTC)


@pytest.fixture
def facts(engine: Engine) -> CellFacts:
    made = CellFacts(engine, days=[DAY_0])
    made.stacks([(n, n + 1) for n in range(1, STACKS + 1)])
    return made


@pytest.fixture
def from_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_rows, "FEWEST", 1)


@pytest.fixture
def no_other_vacuum(engine: Engine) -> Iterator[None]:
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE rollup SET (autovacuum_enabled = off)"))
    yield
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE rollup RESET (autovacuum_enabled)"))


@pytest.fixture
def leave(engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Merges one more visit into the same cells, and clears nothing."""

    def merged() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(RollupJob, "_clear", lambda _: None)
            merge(engine, facts, 2)

    return merged


def merge(engine: Engine, facts: CellFacts, visits: int = 1) -> None:
    """Merge more visits into cells of the same hour, one after the other."""
    random = np.random.default_rng(1)
    for visit in range(visits):
        stacks = dict(enumerate(random.integers(1, 10**6, STACKS).tolist(), 1))
        facts.ingest(facts.visit(DAY_0 * 24, machine_id=1 + visit % 5), [Seen(stacks)])
        RollupJob(engine, every_s=0, stopped=lambda: False).merge(DAY)
        told(engine)


def told(engine: Engine) -> None:
    """Let all see what the connection that merged has counted: of itself it says so seconds later.

    It is the one that the pool gives out again, as it was given back last.
    """
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_stat_force_next_flush()"))


def bytes_taken(engine: Engine) -> int:
    return int(one(engine, "SELECT pg_table_size('rollup')"))


def one(engine: Engine, statement: str) -> Any:
    with engine.connect() as connection:
        return connection.execute(text(statement)).scalar_one()


def dead(engine: Engine) -> int:
    return int(one(engine, "SELECT pg_stat_get_dead_tuples('rollup'::regclass)"))


def vacuums(engine: Engine) -> int:
    return int(one(engine, "SELECT pg_stat_get_vacuum_count('rollup'::regclass)"))


@pytest.mark.slow
@pytest.mark.usefixtures("from_one_row", "no_other_vacuum")
@pytest.mark.parametrize("cleared", [True, False])
def test_merging_writes_to_the_pages_that_it_left(
    engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch, cleared: bool
) -> None:
    if not cleared:
        monkeypatch.setattr(DeadRows, "clear", lambda _: False)
    merge(engine, facts, 12)
    size = one(engine, "SELECT pg_column_size(data) + pg_column_size(moments) FROM rollup LIMIT 1")
    cells = one(engine, "SELECT count(*) FROM rollup")
    assert (bytes_taken(engine) < 6 * size * cells) == cleared
    assert_right(engine)


@pytest.mark.usefixtures("no_other_vacuum")
def test_few_dead_rows_are_left(engine: Engine, leave: Callable[[], None]) -> None:
    leave()
    assert 0 < dead(engine) < dead_rows.FEWEST
    assert not DeadRows(engine).clear()
    assert vacuums(engine) == 0


@pytest.mark.usefixtures("from_one_row", "no_other_vacuum")
def test_dead_rows_are_few_beside_many_that_live(
    engine: Engine, leave: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    leave()
    monkeypatch.setattr(dead_rows, "SHARE", 100.0)
    assert not DeadRows(engine).clear()
    monkeypatch.setattr(dead_rows, "SHARE", 0.02)
    assert DeadRows(engine).clear()
    assert vacuums(engine) == 1


@pytest.mark.usefixtures("from_one_row", "no_other_vacuum")
def test_nobody_who_reads_or_writes_is_waited_for(engine: Engine, leave: Callable[[], None]) -> None:
    leave()
    with engine.connect() as reader, engine.connect() as writer:
        reader.execute(text("SELECT count(*) FROM rollup"))
        writer.execute(text("UPDATE rollup SET samples = samples"))
        assert DeadRows(engine).clear()
        assert vacuums(engine) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("from_one_row", "no_other_vacuum")
def test_a_vacuum_or_a_change_of_the_table_is_not_waited_for(
    engine: Engine, leave: Callable[[], None]
) -> None:
    leave()
    with engine.connect() as other:
        other.execute(text("LOCK TABLE rollup IN SHARE UPDATE EXCLUSIVE MODE"))
        assert DeadRows(engine).clear()  # asked for, and skipped
    assert vacuums(engine) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("from_one_row", "no_other_vacuum")
def test_what_a_snapshot_keeps_is_not_vacuumed_after_every_merge(
    engine: Engine, database_url: str, leave: Callable[[], None]
) -> None:
    now = 0.0
    rows = DeadRows(engine, clock=lambda: now)
    elsewhere = open_engine(database_url, application="dump")
    with snapshot(elsewhere) as held:
        held.execute(text("SELECT count(*) FROM rollup"))
        leave()
        assert rows.clear()
        assert dead(engine) > 0
        now += LONGEST_WAIT_S
        assert not rows.clear(), "nothing more has died"
        waits = [2 * FIRST_WAIT_S]
        while waits[-1] < LONGEST_WAIT_S:
            waits.append(min(2 * waits[-1], LONGEST_WAIT_S))
        leave()
        assert rows.clear()
        for wait in [*waits, LONGEST_WAIT_S]:
            leave()
            now += wait - 1
            assert not rows.clear(), "too early"
            now += 1
            assert rows.clear()
        assert vacuums(engine) == 3 + len(waits)
    elsewhere.dispose()
    leave()
    now += LONGEST_WAIT_S
    assert rows.clear()
    leave()
    assert rows.clear(), "the one before found room, so there is nothing to wait for"


@pytest.mark.slow
@pytest.mark.usefixtures("from_one_row", "no_other_vacuum")
def test_a_vacuum_that_takes_too_long_is_broken_off(
    engine: Engine, database_url: str, leave: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    leave()
    slow = open_engine(database_url, application="slow", pool_size=1)

    @event.listens_for(slow, "connect")
    def _sleeps_after_each_page(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1")
        connection.commit()

    now = 0.0
    rows = DeadRows(slow, clock=lambda: now)
    monkeypatch.setattr(dead_rows, "VACUUM_S", 0.02)
    with pytest.raises(DatabaseBusy):
        rows.clear()
    assert one(slow, "SHOW statement_timeout") == "0", "others have this connection next"
    slow.dispose()
    leave()
    assert not rows.clear(), "too early"
    assert vacuums(engine) == 0


@pytest.mark.usefixtures("from_one_row", "no_other_vacuum")
def test_a_role_that_may_not_vacuum_says_so_once(
    engine: Engine, database_url: str, leave: Callable[[], None]
) -> None:
    leave()
    role = f"plain_{uuid4().hex[:12]}"
    with engine.begin() as connection:
        connection.execute(text(f"CREATE ROLE {role}"))
    plain = open_engine(database_url, application="plain")

    @event.listens_for(plain, "connect")
    def _as_a_plain_role(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET ROLE {role}")
        connection.commit()

    rows = DeadRows(plain)
    try:
        with structlog.testing.capture_logs() as logs:
            assert not rows.clear()
            assert not rows.clear()
        assert [entry["table"] for entry in logs] == ["rollup"]
        assert vacuums(engine) == 0
        with engine.begin() as connection:
            connection.execute(text(f"GRANT MAINTAIN ON rollup TO {role}"))
        assert rows.clear()
        assert vacuums(engine) == 1
    finally:
        plain.dispose()
        with engine.begin() as connection:
            connection.execute(text(f"DROP OWNED BY {role}; DROP ROLE {role}"))


@pytest.mark.usefixtures("from_one_row", "no_other_vacuum")
def test_who_is_to_stop_does_not_vacuum_any_more(
    engine: Engine, facts: CellFacts, leave: Callable[[], None]
) -> None:
    leave()
    facts.ingest(facts.visit(DAY_0 * 24, machine_id=2), [Seen({1: 1})])
    waiting = "SELECT count(*) FROM rollup_queue"
    RollupJob(engine, every_s=0, stopped=lambda: one(engine, waiting) == 0).merge(DAY)
    assert one(engine, waiting) == 0
    assert vacuums(engine) == 0


def test_what_cannot_be_cleared_is_logged_and_merged_all_the_same(
    engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_rows: DeadRows) -> bool:
        raise DatabaseBusy("The statement was cancelled.")

    monkeypatch.setattr(DeadRows, "clear", refused)
    with structlog.testing.capture_logs() as logs:
        merge(engine, facts)
    assert [entry["log_level"] for entry in logs if "dead rows" in entry["event"]] == ["warning"]
    assert one(engine, "SELECT count(*) FROM rollup_queue") == 0
    assert_right(engine)
