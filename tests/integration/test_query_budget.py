"""Questions that are stopped while the database works for them: at once, and the next one is none the worse."""

import threading
from dataclasses import dataclass

import pytest
from sqlalchemy import Engine, text

from storage.errors import BudgetExceeded, QuestionDropped
from storage.query.query_engine import QueryEngine
from storage.query.store_reading import StoreReading
from storage.schema import campaign
from storage.snapshots.copy_binary import copy_out
from storage.snapshots.deadlines import Deadlines
from storage.snapshots.query_budget import Limits, Stop, offered

pytestmark = pytest.mark.integration
_FOREVER = text("SELECT pg_sleep(600)")


@dataclass(frozen=True)
class Sleeping:
    """A question whose statement never ends by itself."""

    begun: threading.Event

    def answer(self, reading: StoreReading) -> None:
        self.begun.set()
        reading.connection.execute(_FOREVER)


@dataclass(frozen=True)
class Backend:
    """Which server process answers."""

    def answer(self, reading: StoreReading) -> int:
        pid: int = reading.connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        return pid


@dataclass(frozen=True)
class Copying:
    """A question that reads by COPY."""

    def answer(self, reading: StoreReading) -> int:
        return len(copy_out(reading.connection, campaign.select(), limit=1 << 20))


def test_a_statement_ends_when_the_time_is_over(engine: Engine):
    queries = QueryEngine(engine, limits=Limits(seconds=0.3))
    before = queries.ask(Backend())
    with pytest.raises(BudgetExceeded) as caught:
        queries.ask(Sleeping(threading.Event()))
    assert caught.value.limit == "time"
    assert queries.ask(Backend()) != before, "a connection that was told to cancel is not used again"
    queries.close()


def test_a_statement_that_the_server_ends_has_taken_too_long(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "storage.snapshots.query_budget._DEADLINES", Deadlines(lambda: 0.0)
    )  # its time never comes
    queries = QueryEngine(engine, limits=Limits(seconds=0.2))
    with pytest.raises(BudgetExceeded) as caught:
        queries.ask(Sleeping(threading.Event()))
    assert caught.value.limit == "time"
    queries.close()


def test_a_statement_ends_when_nobody_waits(engine: Engine):
    queries = QueryEngine(engine)
    begun = threading.Event()
    budget = queries.budget()
    caught: list[BaseException] = []

    def ask() -> None:
        try:
            with offered(budget):
                queries.ask(Sleeping(begun))
        except QuestionDropped as error:
            caught.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(60)
    # The statement may be under way, or only about to be: either way it ends.
    budget.stop(Stop.DROPPED)
    asking.join(60)
    assert [str(error) for error in caught] == ["The client disconnected."]
    queries.ask(Backend())
    queries.close()


def test_what_was_stopped_before_it_began_reads_nothing(engine: Engine):
    queries = QueryEngine(engine)
    budget = queries.budget()
    budget.stop(Stop.DROPPED)
    begun = threading.Event()
    with offered(budget), pytest.raises(QuestionDropped):
        queries.ask(Sleeping(begun))
    assert not begun.is_set()
    queries.close()


def test_bytes_that_are_read_count(engine: Engine):
    queries = QueryEngine(engine, limits=Limits(bytes=10))
    with pytest.raises(BudgetExceeded) as caught:
        queries.ask(Copying())
    assert caught.value.limit == "memory"
    queries.close()


@dataclass(frozen=True)
class Dozing:
    """A question whose statement takes a while."""

    def answer(self, reading: StoreReading) -> None:
        reading.connection.execute(text("SELECT pg_sleep(0.05)"))


def test_it_knows_how_long_was_waited_for_the_database(engine: Engine):
    queries = QueryEngine(engine)
    budget = queries.budget()
    with offered(budget):
        queries.ask(Dozing())
        first = budget.database_s
        queries.ask(Copying())
    assert 0.05 <= first < budget.database_s <= budget.asked_s
    with engine.connect() as connection:  # no question's
        connection.execute(text("SELECT pg_sleep(0.05)"))
    assert budget.database_s <= budget.asked_s
    queries.close()
