"""Appointments carried out: each at its moment, not too many at once, never two on one machine."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from weakref import WeakValueDictionary

import structlog
from sqlalchemy import Engine

from collector import books
from collector.appointments import Appointment
from collector.books import Kept
from collector.describing import Describer
from collector.desk import Desk
from collector.dispatch import Dispatch
from collector.errors import BadPlan
from collector.events import CampaignStopped, VisitEnded, VisitsCalledOff, Watcher
from collector.plan import deadline_s, plan_message
from collector.sweep import LATEST_S
from collector.visit import Visited, Visitor
from storage.archive import Archive
from storage.captures import Due
from storage.errors import StorageError

_log = structlog.get_logger("collector")


class Visiting:
    """The visits one collector has to make."""

    def __init__(
        self,
        engine: Engine,
        archive: Archive,
        *,
        desk: Desk,
        visitor: Visitor,
        dispatch: Dispatch[Due],
        describer: Describer,
        watcher: Watcher,
        concurrent: int,
    ) -> None:
        """`concurrent` bounds the machines visited at one moment, and with them the memory used."""
        self._engine = engine
        self._archive = archive
        self._desk = desk
        self._visitor = visitor
        self._dispatch = dispatch
        self._describer = describer
        self._watcher = watcher
        self._slots = asyncio.Semaphore(concurrent)
        self._machines: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._waiting: dict[asyncio.Task[None], Appointment] = {}
        self._calling: dict[asyncio.Task[None], Appointment] = {}
        self._telling: set[asyncio.Task[int]] = set()

    @property
    def _clock(self) -> Callable[[], datetime]:
        return self._visitor.clock

    def arrange(self, appointments: Sequence[Appointment]) -> None:
        """Make these visits, each from the moment it was drawn for; returns at once."""
        for appointment in appointments:
            task = asyncio.create_task(
                self._wait_and_call(appointment), name=f"visit {appointment.machine.name}"
            )
            self._waiting[task] = appointment
            task.add_done_callback(self._done)

    async def stop(self, grace_s: float) -> None:
        """Call off what has not begun, let what has begun finish for `grace_s`, then break it off.

        Nothing is left running; what cannot be written down any more is swept up as lost later.
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

    async def _wait_and_call(self, appointment: Appointment) -> None:
        moment = appointment.visit.drawn_at
        await asyncio.sleep(max((moment - self._clock()).total_seconds(), 0.0))
        machine_id = appointment.machine.machine_id
        lock = self._machines.setdefault(machine_id, asyncio.Lock())
        async with lock, self._slots:
            task = asyncio.current_task()
            assert task is not None
            self._calling[task] = self._waiting.pop(task)
            late_s = max((self._clock() - moment).total_seconds(), 0.0)
            if late_s > LATEST_S:
                why = (
                    f"The collector was {late_s:.0f} s late: it makes all the visits at once that it may. "
                    "Raise FLEETPROF_CONCURRENT_VISITS, or run another collector."
                )
                await self._call_off([appointment], why)
                return
            await self._call(appointment, late_s)

    async def _call(self, appointment: Appointment, late_s: float) -> None:
        campaign, definition = appointment.campaign, appointment.campaign.definition
        events = definition.events
        try:
            plan = plan_message(
                appointment.visit_id, events, campaign=campaign.name, counted=definition.counted
            )
        except BadPlan as error:
            await self._call_off([appointment], str(error))
            return
        if why := await self._desk.do(books.open_visit, self._engine, appointment, self._clock()):
            await self._call_off([appointment], why)
            return
        visited = await self._visitor.visit(appointment.machine.address, plan, deadline_s=deadline_s(events))
        kept = await self._desk.do(books.close_visit, self._engine, self._archive, appointment.visit, visited)
        _report(appointment, visited)
        if kept is Kept.CAPTURE and visited.brought is not None:
            self._tell(Due(appointment.visit_id, 1, visited.brought.partition, again=False))
        self._watcher(VisitEnded(campaign.name, appointment.machine.name, visited, late_s))
        if visited.brought is None:
            await self._brake(appointment)
        else:
            self._describer.compare(appointment.machine, visited.brought.machine)

    def _tell(self, due: Due) -> None:
        """Send the landing task; no visit waits for a broker that is away."""
        task = asyncio.create_task(asyncio.to_thread(self._dispatch, [due]))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _brake(self, appointment: Appointment) -> None:
        why = await self._desk.do(books.apply_brake, self._engine, appointment.campaign)
        if why is not None:
            _log.error("campaign stopped", campaign=appointment.campaign.name, why=why)
            self._watcher(CampaignStopped(appointment.campaign.name, why))

    async def _call_off(self, appointments: Sequence[Appointment], why: str) -> None:
        if not appointments:
            return
        _log.info("visits called off", visits=len(appointments), why=why)
        self._watcher(VisitsCalledOff(len(appointments)))
        drawn = [appointment.visit for appointment in appointments]
        try:
            await self._desk.do(books.call_off, self._engine, drawn, why)
        except StorageError as error:
            _log.warning("not written down; a sweep will end these visits as lost", why=str(error))

    def _done(self, task: asyncio.Task[None]) -> None:
        self._waiting.pop(task, None)
        self._calling.pop(task, None)
        if task.cancelled() or (error := task.exception()) is None:
            return
        known = isinstance(error, StorageError)
        _log.error("a visit was not completed", why=str(error), exc_info=None if known else error)


def _report(appointment: Appointment, visited: Visited) -> None:
    who = {"campaign": appointment.campaign.name, "machine": appointment.machine.name}
    if visited.brought is None:
        _log.warning("visit failed", **who, outcome=str(visited.outcome), detail=visited.detail)
        return
    _log.info("visit answered", **who, samples=visited.brought.samples, bytes=len(visited.brought.blob))
