"""Makes scheduled visits: each at its time, a limited number at once, never two on one machine."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from weakref import WeakValueDictionary

import structlog
from sqlalchemy import Engine

from collector import visit_records
from collector.blocking_executor import BlockingExecutor
from collector.description_refresh import DescriptionRefresher
from collector.dispatch import Dispatch
from collector.errors import BadPlan
from collector.events import CampaignStopped, VisitEnded, VisitsCalledOff, Watcher
from collector.plan import deadline_s, plan_message
from collector.schedule_round import ScheduledVisit
from collector.sweep import MAX_START_DELAY_S
from collector.visit import Visitor, VisitResult
from collector.visit_records import CloseResult
from storage.archive import Archive
from storage.captures import Due
from storage.errors import StorageError

_log = structlog.get_logger("collector")


class VisitRunner:
    """The scheduled visits of one collector."""

    def __init__(
        self,
        engine: Engine,
        archive: Archive,
        *,
        executor: BlockingExecutor,
        visitor: Visitor,
        dispatch: Dispatch[Due],
        refresher: DescriptionRefresher,
        watcher: Watcher,
        concurrent: int,
    ) -> None:
        """`concurrent` limits the machines visited at the same time, and with them the memory used."""
        self._engine = engine
        self._archive = archive
        self._executor = executor
        self._visitor = visitor
        self._dispatch = dispatch
        self._refresher = refresher
        self._watcher = watcher
        self._slots = asyncio.Semaphore(concurrent)
        self._machines: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._waiting: dict[asyncio.Task[None], ScheduledVisit] = {}
        self._calling: dict[asyncio.Task[None], ScheduledVisit] = {}
        self._sending: set[asyncio.Task[int]] = set()

    @property
    def _clock(self) -> Callable[[], datetime]:
        return self._visitor.clock

    def schedule(self, scheduled_visits: Sequence[ScheduledVisit]) -> None:
        """Schedule these visits, each for the moment it was drawn for; returns at once."""
        for scheduled in scheduled_visits:
            task = asyncio.create_task(self._wait_and_call(scheduled), name=f"visit {scheduled.machine.name}")
            self._waiting[task] = scheduled
            task.add_done_callback(self._done)

    async def stop(self, grace_s: float) -> None:
        """Call off visits that have not begun; let the others finish for `grace_s`, then cancel them.

        No task is left running. A later sweep ends as lost the visits whose end could not be recorded.
        """
        waiting = dict(self._waiting)
        for task in waiting:
            task.cancel()
        if calling := set(self._calling):
            await asyncio.wait(calling, timeout=grace_s)
        broken_off = dict(self._calling)
        for task in broken_off:
            task.cancel()
        await asyncio.gather(*waiting, *broken_off, return_exceptions=True)
        await self._call_off(
            list(waiting.values()), "The collector was stopped before the machine was called."
        )
        await self._call_off(list(broken_off.values()), "The collector was stopped during the visit.")

    async def _wait_and_call(self, scheduled: ScheduledVisit) -> None:
        moment = scheduled.visit.drawn_at
        await asyncio.sleep(max((moment - self._clock()).total_seconds(), 0.0))
        machine_id = scheduled.machine.machine_id
        lock = self._machines.setdefault(machine_id, asyncio.Lock())
        async with lock, self._slots:
            task = asyncio.current_task()
            assert task is not None
            self._calling[task] = self._waiting.pop(task)
            late_s = max((self._clock() - moment).total_seconds(), 0.0)
            if late_s > MAX_START_DELAY_S:
                why = (
                    f"The collector was {late_s:.0f} s late: it is at its limit of concurrent visits. "
                    "Raise FLEETPROF_CONCURRENT_VISITS, or run another collector."
                )
                await self._call_off([scheduled], why)
                return
            await self._call(scheduled, late_s)

    async def _call(self, scheduled: ScheduledVisit, late_s: float) -> None:
        campaign, definition = scheduled.campaign, scheduled.campaign.definition
        events = definition.events
        try:
            plan = plan_message(
                scheduled.visit_id, events, campaign=campaign.name, counted=definition.counted
            )
        except BadPlan as error:
            await self._call_off([scheduled], str(error))
            return
        if why := await self._executor.run(visit_records.open_visit, self._engine, scheduled, self._clock()):
            await self._call_off([scheduled], why)
            return
        visited = await self._visitor.visit(scheduled.machine.address, plan, deadline_s=deadline_s(events))
        closed = await self._executor.run(
            visit_records.close_visit, self._engine, self._archive, scheduled.visit, visited
        )
        _report(scheduled, visited)
        if closed is CloseResult.CAPTURE and visited.received is not None:
            self._send_task(Due(scheduled.visit_id, 1, visited.received.partition, again=False))
        self._watcher(VisitEnded(campaign.name, scheduled.machine.name, visited, late_s))
        if visited.received is None:
            await self._brake(scheduled)
        else:
            self._refresher.compare(scheduled.machine, visited.received.machine)

    def _send_task(self, due: Due) -> None:
        """Send the ingestion task; visits do not wait for an unavailable broker."""
        task = asyncio.create_task(asyncio.to_thread(self._dispatch, [due]))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _brake(self, scheduled: ScheduledVisit) -> None:
        why = await self._executor.run(visit_records.apply_brake, self._engine, scheduled.campaign)
        if why is not None:
            _log.error("campaign stopped", campaign=scheduled.campaign.name, why=why)
            self._watcher(CampaignStopped(scheduled.campaign.name, why))

    async def _call_off(self, scheduled_visits: Sequence[ScheduledVisit], why: str) -> None:
        if not scheduled_visits:
            return
        _log.info("visits cancelled", visits=len(scheduled_visits), why=why)
        self._watcher(VisitsCalledOff(len(scheduled_visits)))
        drawn = [scheduled.visit for scheduled in scheduled_visits]
        try:
            await self._executor.run(visit_records.call_off, self._engine, drawn, why)
        except StorageError as error:
            _log.warning("not recorded; a sweep will end these visits as lost", why=str(error))

    def _done(self, task: asyncio.Task[None]) -> None:
        self._waiting.pop(task, None)
        self._calling.pop(task, None)
        if task.cancelled() or (error := task.exception()) is None:
            return
        known = isinstance(error, StorageError)
        _log.error("a visit was not completed", why=str(error), exc_info=None if known else error)


def _report(scheduled: ScheduledVisit, visited: VisitResult) -> None:
    who = {"campaign": scheduled.campaign.name, "machine": scheduled.machine.name}
    if visited.received is None:
        _log.warning("visit failed", **who, outcome=str(visited.outcome), detail=visited.detail)
        return
    _log.info("visit answered", **who, samples=visited.received.samples, bytes=len(visited.received.blob))
