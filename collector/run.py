"""The collector process: draws rounds, makes visits and sweeps, until it is stopped.

Several collectors may run on one database: each round is claimed by one of them, and all other work may be
done twice. No state of the process must survive: the next sweep of another collector finishes what a killed
collector leaves behind.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from time import monotonic

import numpy as np
import structlog
from sqlalchemy import Engine

from collector import requested_visits, sweep
from collector.blocking_executor import TRANSIENT_ERRORS, BlockingExecutor, pause
from collector.default_campaign import ensure_default_campaign
from collector.description_refresh import DescriptionRefresher
from collector.dispatch import RESEND_S, Dispatch
from collector.events import JobDone, RoundDrawn, ServerAway, Swept, Watcher, ignore_event
from collector.lease import Lease
from collector.rollup_job import RollupJob
from collector.schedule import round_at, round_start
from collector.schedule_round import ScheduledVisit, draw_round
from collector.symbol_requests import SymbolRequester, SymbolRequestTerms
from collector.visit import Visitor
from collector.visit_runner import VisitRunner
from storage import campaigns, coverage
from storage.archive import Archive
from storage.campaigns import Campaign, State
from storage.captures import Due
from storage.errors import ArchiveError, StorageError
from storage.retention.retain import Keep
from storage.rollup.stack_functions import STACK_BYTES

_log = structlog.get_logger("collector")

ANNOUNCE_AGAIN_S = 300.0
"""Interval of announcing a binary whose better symbols have not been used, until they are no longer new."""
FIRST_DESCRIPTIONS_S = 5.0
"""Longest wait of the first draw for descriptions of machines: the platform decides the stratum."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Intervals of the jobs in seconds, and limits."""

    concurrent_visits: int = 32
    look_s: float = 1.0
    """Between checks for a campaign whose round has begun, and for requested visits."""
    sweep_s: float = 15.0
    lease_s: float = 20.0
    """If a collector does not renew its lease for this long, another's sweep ends its visits as lost."""
    merge_look_s: float = 5.0
    """Between checks for enough ingested visits to be merged into cells."""
    merge_s: float = 60.0
    """An ingested visit waits at most this long for its rollup."""
    tidy_s: float = 3600.0
    """Between sweeps of the whole archive and of old days."""
    describe_s: float = 30.0
    ask_s: float = 30.0
    """Between checks for a binary whose symbols may be requested from a gateway."""
    resend_s: float = RESEND_S
    grace_s: float = 10.0
    """Time for visits in progress to finish when the collector is stopped."""
    keep: Keep | None = None
    """Age limits of stored data; None: nothing is ever dropped."""


@dataclass(slots=True)
class Collector:
    """One collector; `run` it once."""

    engine: Engine
    archive: Archive
    send: Callable[[Due], None]
    """Puts the ingestion task of one capture on the queue."""
    announce: Callable[[str], None] | None = None
    """Sends a task for a binary with better symbols, by its key; None: no task is sent."""
    visitor: Visitor = field(default_factory=Visitor)
    pace: Pace = field(default_factory=Pace)
    watcher: Watcher = ignore_event
    symbol_requests: SymbolRequestTerms | None = None
    """None: no symbols are requested from gateways."""
    lake_job: Callable[[datetime, Callable[[], bool]], None] | None = None
    """Exports closed days as of a time, until the function returns True (`collector.lake`); None: there is no lake."""
    stack_bytes: int = STACK_BYTES
    """Memory for the functions of stacks, which rollups need."""
    random: np.random.Generator = field(default_factory=np.random.default_rng)
    _partitions_created_on: date | None = field(default=None, init=False)
    _symbols_looked_at: datetime | None = field(default=None, init=False)
    _mine: dict[int, int] = field(default_factory=dict, init=False)
    """Last round that this collector drew, by the id of its campaign."""

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set. Raises `StorageError` for errors that waiting does not resolve."""
        executor = BlockingExecutor(stop, failed=lambda: self.watcher(ServerAway("database")))
        lease = Lease(self.engine, self.pace.lease_s)
        refresher = DescriptionRefresher(
            self.engine, executor=executor, credentials=self.visitor.credentials, clock=self.visitor.clock
        )
        dispatch = Dispatch(
            self.send, resend_s=self.pace.resend_s, failed=lambda: self.watcher(ServerAway("broker"))
        )
        announcing = Dispatch(self.announce, resend_s=ANNOUNCE_AGAIN_S) if self.announce else None
        rollup_job = RollupJob(
            self.engine, every_s=self.pace.merge_s, stopped=stop.is_set, stack_bytes=self.stack_bytes
        )
        visit_runner = VisitRunner(
            self.engine,
            self.archive,
            executor=executor,
            visitor=self.visitor,
            dispatch=dispatch,
            refresher=refresher,
            watcher=self.watcher,
            concurrent=self.pace.concurrent_visits,
        )
        works = []
        if self.symbol_requests is not None:
            symbol_requester = SymbolRequester(
                self.engine,
                stop=stop,
                executor=executor,
                credentials=self.visitor.credentials,
                terms=self.symbol_requests,
            )
            works.append(self._repeat("ask", self.pace.ask_s, stop, symbol_requester.look))
        if (lake_job := self.lake_job) is not None:
            works.append(
                self._repeat(
                    "lake", self.pace.tidy_s, stop, lambda: executor.run(lake_job, self._now(), stop.is_set)
                )
            )
        try:
            await executor.run(self._prepare)
            await executor.run(lease.start)
            await _within(FIRST_DESCRIPTIONS_S, refresher.look())
            _log.info("collector is running")
            await _all(
                stop,
                self._repeat(
                    "draw", self.pace.look_s, stop, lambda: self._draw(executor, visit_runner, lease)
                ),
                self._repeat(
                    "requests",
                    self.pace.look_s,
                    stop,
                    lambda: self._take_requests(executor, visit_runner, lease),
                ),
                self._repeat("describe", self.pace.describe_s, stop, refresher.look),
                self._repeat(
                    "sweep",
                    self.pace.sweep_s,
                    stop,
                    lambda: executor.run(self._sweep, dispatch, announcing, lease),
                ),
                self._repeat(
                    "merge", self.pace.merge_look_s, stop, lambda: executor.run(rollup_job.merge, self._now())
                ),
                self._repeat("tidy", self.pace.tidy_s, stop, lambda: executor.run(self._tidy, stop)),
                *works,
            )
        except TRANSIENT_ERRORS as error:  # the executor waits for these to pass until `stop` is set
            _log.warning("stopped while the database was unavailable", why=str(error))
        finally:
            stop.set()
            stopped_at = self._now()
            await visit_runner.stop(self.pace.grace_s)
            await self._end_rounds(executor, stopped_at)
            await asyncio.to_thread(lease.end)
            await asyncio.to_thread(executor.close)
            _log.info("collector has ended")

    async def _end_rounds(self, executor: BlockingExecutor, moment: datetime) -> None:
        """End the covered time of this collector's rounds at `moment`: their remaining visits are called off."""

        def end() -> None:
            with self.engine.begin() as connection:
                for campaign in campaigns.list_(connection):
                    if self._mine.get(campaign.campaign_id) == campaign.last_round:
                        coverage.end_time(connection, campaign.campaign_id, moment)

        try:
            await executor.run(end)
        except StorageError as error:
            _log.warning(
                "drawn rounds count as complete, although some of their visits were cancelled", why=str(error)
            )

    async def _repeat(
        self, name: str, seconds: float, stop: asyncio.Event, work: Callable[[], Awaitable[object]]
    ) -> None:
        while not stop.is_set():
            begun = monotonic()
            await work()
            self.watcher(JobDone(name, monotonic() - begun))
            await pause(stop, seconds)

    def _now(self) -> datetime:
        return self.visitor.clock()

    def _prepare(self) -> None:
        self._create_partitions(self._now().date())
        with self.engine.begin() as connection:
            ensure_default_campaign(connection)

    async def _draw(self, executor: BlockingExecutor, visit_runner: VisitRunner, lease: Lease) -> None:
        """Draw the round of every campaign whose last one is over."""
        for campaign in await executor.run(self._campaigns):
            number = round_at(self._now(), campaign.definition.period_s)
            if campaign.state != State.RUNNING or campaigns.is_drawn(campaign, number):
                continue
            if campaign.last_round > number:
                _log.warning("the clock was set back by days", campaign=campaign.name, round=number)
            drawn = await executor.run(self._draw_round, campaign, lease)
            if drawn is None:
                continue
            number, scheduled_visits = drawn
            self._mine[campaign.campaign_id] = number
            _log.info("round drawn", campaign=campaign.name, round=number, visits=len(scheduled_visits))
            late_s = (self._now() - round_start(number, campaign.definition.period_s)).total_seconds()
            self.watcher(RoundDrawn(campaign.name, number, len(scheduled_visits), max(late_s, 0.0)))
            visit_runner.schedule(scheduled_visits)

    async def _take_requests(
        self, executor: BlockingExecutor, visit_runner: VisitRunner, lease: Lease
    ) -> None:
        """Make the visits that were requested over the API."""
        visit_runner.schedule(await executor.run(requested_visits.claim, self.engine, lease))

    def _campaigns(self) -> list[Campaign]:
        with self.engine.connect() as connection:
            return campaigns.list_(connection)

    def _create_partitions(self, today: date) -> None:
        """Create partitions for today's visits; a machine that was suspended may resume days after the last one."""
        if self._partitions_created_on != today:
            sweep.create_partitions(self.engine, today)
            self._partitions_created_on = today

    def _draw_round(self, campaign: Campaign, lease: Lease) -> tuple[int, list[ScheduledVisit]] | None:
        """Draw the current round; its number and visits. While the executor was busy, the next one may have begun."""
        self._create_partitions(self._now().date())
        lease.renew()  # it may have run out while the database was away: other collectors must not end these visits
        with self.engine.begin() as connection:
            now = self._now()
            scheduled_visits = draw_round(connection, campaign, now, self.random, lease.collector_id)
        return (
            None
            if scheduled_visits is None
            else (round_at(now, campaign.definition.period_s), scheduled_visits)
        )

    def _sweep(self, dispatch: Dispatch[Due], announcing: Dispatch[str] | None, lease: Lease) -> None:
        now = self._now()
        adopted, lost = sweep.end_orphans(
            self.engine, self.archive, lease.collector_id, lease.length, now=now
        )
        adopted += sweep.adopt(self.engine, self.archive, before=now - sweep.ADOPT_AFTER, now=now)
        if adopted:
            _log.info("captures of ended collectors adopted", captures=len(adopted))
        if lost := lost + sweep.give_up(self.engine, now=now):
            _log.info("visits of ended collectors recorded as lost", visits=lost)
        self.watcher(Swept(len(adopted), lost))
        if announcing is not None:
            sweep.announce_improved(self.engine, announcing)
        self._symbols_looked_at = sweep.withdraw_symbols(self.engine, self._symbols_looked_at)
        sweep.reprocess_improved(self.engine)
        sweep.send_due(self.engine, dispatch)

    def _tidy(self, stop: asyncio.Event) -> None:
        today = self._now().date()
        sweep.create_partitions(self.engine, today)
        if again := sweep.retry_readable(self.engine):
            _log.info("captures of a newer format are retried", captures=again)
        try:
            if self.pace.keep is not None:
                sweep.drop_old(self.engine, self.archive, today, self.pace.keep, stop.is_set)
                sweep.free_dictionaries(self.engine, self._now(), stop.is_set)
            if deleted := sweep.clear_orphans(self.engine, self.archive):
                _log.info("orphan blobs deleted", blobs=deleted)
        except ArchiveError as error:
            _log.warning("archive not swept", why=str(error))


def run_until_signalled(collector: Collector) -> None:
    """Run the collector in this process's main thread until SIGTERM or SIGINT."""

    async def main() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await collector.run(stop)

    asyncio.run(main())


async def _within(seconds: float, work: Awaitable[object]) -> None:
    try:
        async with asyncio.timeout(seconds):
            await work
    except TimeoutError:
        return


async def _all(stop: asyncio.Event, *works: Awaitable[None]) -> None:
    """Wait for all; the first that fails stops the others, and its error is raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    stop.set()
    await asyncio.wait(tasks)
    errors = [error for task in (*done, *tasks) if (error := task.exception()) is not None]
    if errors:
        raise errors[0]
