"""Keeps the inventory's description of machines current (DIGEST G1)."""

import asyncio
import time
from collections.abc import Callable
from datetime import datetime

import structlog
from sqlalchemy import Engine

from collector.blocking_executor import BlockingExecutor
from collector.channel import Credentials
from collector.errors import CollectorError
from collector.machine_description import describe, has_changed, is_stale
from fleetpb import capture_pb2
from storage import inventory
from storage.errors import UnknownMachine
from storage.inventory import Machine

AT_ONCE = 16
"""Concurrent Describe calls; a response is a few hundred bytes."""
RETRY_S = 300.0
"""A machine whose Describe call failed is called again after this long, or after its next visit."""

_log = structlog.get_logger("collector")


class DescriptionRefresher:
    """Calls Describe on new machines, on changed ones, and on all of them once a day."""

    def __init__(
        self,
        engine: Engine,
        *,
        executor: BlockingExecutor,
        credentials: Credentials | None,
        clock: Callable[[], datetime],
    ) -> None:
        self._engine = engine
        self._executor = executor
        self._credentials = credentials
        self._clock = clock
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._not_before: dict[int, float] = {}
        self._changed: set[int] = set()

    def compare(self, machine: Machine, seen: capture_pb2.Machine | None) -> None:
        """Schedule a new description if a capture differs from the inventory's."""
        if has_changed(machine, seen):
            self._changed.add(machine.machine_id)
            self._not_before.pop(machine.machine_id, None)

    async def look(self) -> int:
        """Call every machine whose description is missing, old or wrong; the number described."""
        machines = await self._executor.run(self._machines)
        now, moment = self._clock(), time.monotonic()
        due = [
            machine
            for machine in machines
            if (machine.machine_id in self._changed or is_stale(machine, now))
            and self._not_before.get(machine.machine_id, 0.0) <= moment
        ]
        return sum(await asyncio.gather(*(self._describe(machine) for machine in due)))

    def _machines(self) -> list[Machine]:
        with self._engine.connect() as connection:
            return inventory.machines(connection)

    async def _describe(self, machine: Machine) -> bool:
        try:
            async with self._slots:
                message = await describe(machine.address, self._credentials)
            await self._executor.run(self._store, machine.machine_id, message)
        except (CollectorError, UnknownMachine) as error:
            self._not_before[machine.machine_id] = time.monotonic() + RETRY_S
            _log.warning("machine not described", machine=machine.name, why=str(error))
            return False
        self._changed.discard(machine.machine_id)
        _log.info(
            "machine described",
            machine=machine.name,
            platform=message.platform,
            kernel=message.kernel_release,
        )
        return True

    def _store(self, machine_id: int, message: capture_pb2.Machine) -> None:
        with self._engine.begin() as connection:
            inventory.describe(connection, machine_id, message)
