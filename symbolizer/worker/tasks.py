"""The worker's Celery tasks, and the entry point of its process."""

import logging
import os
import platform
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from celery import Celery
from sqlalchemy import Engine

from storage import quarantine
from storage.archive import Archive
from storage.database import open_engine
from storage.errors import DatabaseError
from storage.ingest.decode_capture import NEWEST_FORMAT
from storage.ingest.interning import DEFAULT_STACK_BYTES
from symbolizer.builds.build import BuildLimits
from symbolizer.builds.builder import SymCacheBuilder, fleet_symcaches
from symbolizer.builds.outcome import Built, NotBuilt
from symbolizer.builds.symbol_cache_folder import DEFAULT_LIMIT_BYTES
from symbolizer.identity import ImageIdentity
from symbolizer.images.resolve import Resolver
from symbolizer.sources.chain import SourceSettings, make_sources
from symbolizer.worker.broker import BUILD_SYMCACHE, INGEST_CAPTURE, NAME_FUNCTIONS, make_broker
from symbolizer.worker.descriptor_limit import allow_descriptors
from symbolizer.worker.events import FunctionsNamed, SymbolsBuilt, Watcher, ignore_event, report_task
from symbolizer.worker.function_naming import FunctionNamer
from symbolizer.worker.ingestion import DEFAULT_TERMS, Ingester, LeaseTerms
from symbolizer.worker.routing import ALL_PARTITIONS, WorkerPartitions, queues

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerResources:
    """Resources of one worker process, created after the fork; for one thread."""

    ingester: Ingester
    builder: SymCacheBuilder
    namer: FunctionNamer


def make_app(
    broker_url: str,
    *,
    database_url: str,
    archive_url: str,
    places: SourceSettings,
    terms: LeaseTerms = DEFAULT_TERMS,
    limits: BuildLimits | None = None,
    cache_bytes: int = DEFAULT_LIMIT_BYTES,
    stack_bytes: int = DEFAULT_STACK_BYTES,
    watcher: Watcher = ignore_event,
) -> Celery:
    """The application with the tasks of `symbolizer.worker.broker`.

    Nothing is opened before a process's first task: connections and caches are created after the
    fork, once per process, and stay with it. `cache_bytes` limits this machine's built symbols,
    `stack_bytes` each process's cache of stacks.
    """
    app = make_broker(broker_url)
    at: dict[int, WorkerResources] = {}

    def send(task: str, *arguments: str) -> None:
        try:
            app.send_task(task, args=arguments, retry=False, ignore_result=True)
        except Exception as error:  # noqa: BLE001 - kombu and redis share no base class; the sweep does it later
            log.warning("not sent: task=%s binary=%s why=%s", task, arguments[0], error)

    def request_build(identity: ImageIdentity) -> None:
        send(BUILD_SYMCACHE, identity.key, identity.path)

    def announce_better(key: str) -> None:
        send(NAME_FUNCTIONS, key, "")

    def here() -> WorkerResources:
        process = os.getpid()
        if process not in at:
            at.clear()  # the parent's, if this process was forked from one that ran tasks itself
            engine = open_engine(database_url, application="worker", pool_size=2)
            archive = Archive(archive_url)
            _retry_readable(engine)
            source = make_sources(places, engine, archive, request_build=request_build)
            patient = make_sources(places, engine, archive)
            folder = places.cache_dir
            caches = fleet_symcaches(engine, archive, folder, limits=limits, folder_bytes=cache_bytes)
            resolver = Resolver(source, caches, request_build=request_build)
            at[process] = WorkerResources(
                Ingester(
                    engine,
                    archive,
                    resolver,
                    terms=terms,
                    stack_bytes=stack_bytes,
                    announce_better=announce_better,
                    watcher=watcher,
                ),
                SymCacheBuilder(engine, archive, patient, folder, limits, folder_bytes=cache_bytes),
                FunctionNamer(engine, source, caches, request_build=request_build),
            )
        return at[process]

    @app.task(name=INGEST_CAPTURE)
    def ingest_capture(visit_id: str) -> None:
        with report_task(watcher, INGEST_CAPTURE):
            here().ingester.ingest(UUID(visit_id))

    @app.task(name=BUILD_SYMCACHE)
    def build_symcache(key: str, path: str = "") -> None:
        with report_task(watcher, BUILD_SYMCACHE):
            watcher(SymbolsBuilt(_outcome(here().builder.build(key, path))))
            # Also after a failure: then by the symbol table.
            watcher(FunctionsNamed(here().namer.name_functions(key).functions))

    @app.task(name=NAME_FUNCTIONS)
    def name_functions(key: str, why: str = "") -> None:
        with report_task(watcher, NAME_FUNCTIONS):
            watcher(FunctionsNamed(here().namer.name_functions(key, why).functions))

    return app


def worker_main(
    app: Celery,
    *,
    processes: int = 0,
    pool: Literal["prefork", "solo"] = "prefork",
    log_level: str = "INFO",
    name: str = "worker",
    share: WorkerPartitions = ALL_PARTITIONS,
) -> None:
    """Run a worker of the application until SIGTERM or SIGINT, which let running tasks finish.

    `processes` 0 means one for each CPU that this process may use. `name` must be unique among the workers
    of one machine. Captures of the partitions in its `share` are taken before others.
    """
    allow_descriptors()
    count = processes or len(os.sched_getaffinity(0))
    host = f"{name}@{platform.node()}"
    # Not `app.worker_main`: Celery's command line imports a terminal editor, 15 MB in each process.
    app.Worker(
        hostname=host,
        pool_cls=pool,
        concurrency=count,
        loglevel=log_level,
        queues=queues(share, host),
        without_mingle=True,
        without_gossip=True,
        without_heartbeat=True,
    ).start()


def _outcome(outcome: Built | NotBuilt) -> str:
    if isinstance(outcome, Built):
        return "built"
    return "pending" if outcome.pending else "failed"


def _retry_readable(engine: Engine) -> None:
    """At start, retry captures that an older program could not read; this one may."""
    try:
        with engine.begin() as connection:
            again = quarantine.retry_readable(connection, NEWEST_FORMAT)
    except DatabaseError as error:  # the first ingestion meets it too; the collector retries once an hour
        log.warning("cannot look for captures of newer formats: why=%s", error)
        return
    if again:
        log.info("retried: captures=%d, their format is now supported", again)
