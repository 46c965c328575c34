"""Collectors with real threads, sockets and PostgreSQL, and what comes of them."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from sqlalchemy import Engine, select

from collector.run import Collector, Pace
from collector.visit import Visitor
from storage import campaigns, inventory
from storage.archive import Archive
from storage.campaigns import Definition, EventPlan
from storage.inventory import NewMachine
from storage.schema import Outcome, machine, visit

QUICK = Definition(
    "fleet",
    period_s=0.5,
    visits_per_round=10,
    events=(EventPlan("cpu", 50, rate_hz=99),),
    failure_threshold=1.0,
    failure_window=50,
)
PACE = Pace(look_s=0.05, sweep_s=0.2, describe_s=0.2, resend_s=0.5, grace_s=0.2)
PATIENCE_S = 20.0


def define(engine: Engine, definition: Definition, *machines: NewMachine) -> None:
    with engine.begin() as connection:
        campaigns.create_or_update(connection, definition)
        for new in machines:
            inventory.add(connection, new)


def a_collector(engine: Engine, archive: Archive, send: Callable[[UUID], None], **changes) -> Collector:
    visitor = Visitor(first_reply_s=0.5)
    return Collector(
        engine, archive, lambda due: send(due.visit_id), **{"visitor": visitor, "pace": PACE, **changes}
    )


@contextmanager
def running(*collectors: Collector) -> Iterator[None]:
    """The collectors, each on a thread and loop of its own; stopped and joined at the end."""
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    errors: list[BaseException] = []
    ready = threading.Barrier(len(collectors) + 1)

    def work(collector: Collector) -> None:
        async def main() -> None:
            stop = asyncio.Event()
            started.append((asyncio.get_running_loop(), stop))
            ready.wait()
            await collector.run(stop)

        try:
            asyncio.run(main())
        except BaseException as error:  # noqa: BLE001 - raised in the test's own thread below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(collector,)) for collector in collectors]
    for thread in threads:
        thread.start()
    ready.wait()
    try:
        yield
    finally:
        for loop, stop in started:
            if not loop.is_closed():
                loop.call_soon_threadsafe(stop.set)
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
    if errors:
        raise errors[0]


def eventually(ask):
    """The first true answer."""
    deadline = time.monotonic() + PATIENCE_S
    while not (answer := ask()):
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.02)
    return answer


def outcomes(engine: Engine) -> dict[str, set[str]]:
    """Machine → outcomes of its visits that ended."""
    with engine.connect() as connection:
        rows = connection.execute(
            select(machine.c.name, visit.c.outcome)
            .join(visit, visit.c.machine_id == machine.c.machine_id)
            .where(visit.c.outcome.not_in([Outcome.DRAWN, Outcome.LOST]))
        )
        found: dict[str, set[str]] = {}
        for row in rows:
            found.setdefault(row.name, set()).add(row.outcome)
        return found


def count(engine: Engine, statement) -> int:
    with engine.connect() as connection:
        return connection.scalar(statement)


def campaign_of(engine: Engine, name: str = "fleet") -> campaigns.Campaign:
    with engine.connect() as connection:
        return campaigns.get(connection, name)
