"""Sweeps that die, are overtaken or stopped lose nothing."""

import os
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import Engine, select

from storage.database import open_engine
from storage.dictionary_sweep import epochs
from storage.dictionary_sweep.errors import SweepOvertaken
from storage.dictionary_sweep.sweep import EVERY, Swept, sweep, sweep_if_due
from storage.errors import DatabaseError
from storage.ingest.interning import Interner
from storage.schema import (
    dictionary_epoch,
)
from tests.ingested import archived
from tests.integration.dictionary_sweep.ingestions import (
    NEXT_DAY,
    broken,
    ingested,
    is_as_ingested,
    rows,
    vanish,
)
from tests.integration.exactly_once.faults import CRASHED, Commits, Fault, Plan

pytestmark = pytest.mark.integration


class TestEndings:
    @pytest.mark.slow
    @pytest.mark.parametrize("fault", Fault)
    def test_dying_at_any_commit_loses_nothing_and_the_next_sweep_finishes(
        self, fault: Fault, engine: Engine, database_url: str, interner: Interner, two_days: tuple[UUID, UUID]
    ) -> None:
        """After each death somebody who remembers ingests the vanishing stacks at once."""
        visits = archived(engine, 40, drawn_at=NEXT_DAY)
        for at in range(1, len(visits)):
            died = dies(database_url, Plan(fault, at))
            ingested(engine, interner, visits[at], 1)
            assert broken(engine, finished=not died) == {}
            assert is_as_ingested(engine, visits[at], 1)
            assert is_as_ingested(engine, two_days[1], 2)
            if not died:
                break
            vanish(engine, visits[at])
        assert at > 5
        assert sweep(engine) is not None
        assert broken(engine) == {}
        with engine.connect() as connection:
            assert connection.scalar(select(dictionary_epoch.c.marking)) is False

    def test_of_two_sweeps_one_gives_way(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        others: list[Swept | None] = []
        once = iter([True])

        def another() -> bool:
            others.extend(sweep(engine) for _ in once)
            return False

        assert sweep(engine, stopping=another) is not None
        assert others == [None]

    def test_one_that_was_overtaken_deletes_nothing_more(
        self, engine: Engine, two_days: tuple[UUID, UUID]
    ) -> None:
        before = rows(engine)
        once = iter([True])

        def overtake() -> bool:
            for _ in once:
                epochs.begin(engine)
            return False

        with pytest.raises(SweepOvertaken):
            sweep(engine, stopping=overtake)
        assert rows(engine) == before

    @pytest.mark.slow
    @pytest.mark.parametrize("after", [1, 3, 9, 30])
    def test_one_that_is_stopped_leaves_no_marking(
        self, engine: Engine, after: int, two_days: tuple[UUID, UUID]
    ) -> None:
        moments = iter(range(1, 100))
        stopped = sweep(engine, stopping=lambda: next(moments) >= after)
        with engine.connect() as connection:
            row = connection.execute(select(dictionary_epoch)).one()
        assert row.marking is False
        assert (row.swept_at is None) == (stopped is None)
        assert broken(engine, finished=stopped is not None) == {}
        assert is_as_ingested(engine, two_days[1], 2)

    def test_it_is_due_once_a_week_and_after_a_death(
        self, engine: Engine, two_days: tuple[UUID, UUID]
    ) -> None:
        now = datetime.now(UTC)
        assert sweep_if_due(engine, now) is not None
        assert sweep_if_due(engine, now) is None
        epochs.begin(engine)  # and dies
        assert sweep_if_due(engine, now) is not None
        assert sweep_if_due(engine, now) is None
        assert sweep_if_due(engine, now + EVERY + timedelta(minutes=1)) is not None


def dies(database_url: str, plan: Plan) -> bool:
    """Sweep in a process of its own that meets the fault; False: there is no such commit."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            engine = open_engine(database_url, application="sweeper")
            commits = Commits(engine, plan)
            with suppress(DatabaseError):
                sweep(engine)
            status = 4 if commits.faults else 0
        finally:
            os._exit(status)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in CRASHED | {0, 4}, f"ended with {code}"
    return code != 0
