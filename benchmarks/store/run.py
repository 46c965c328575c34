"""One run: make a fleet and its code, load it in bulk, land captures, and look at what it takes."""

from __future__ import annotations

import multiprocessing
import pickle
import random
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import numpy as np
import zstandard
from sqlalchemy import text

from benchmarks.cpu_time import tree_cpu_s
from benchmarks.store import asked, history, landers, peers
from benchmarks.store.bulk import ROWS_INDEX, ROWS_TABLE, BulkVisit, Constants, load
from benchmarks.store.database import (
    DAYS,
    FIRST_DAY,
    FIRST_HOUR,
    STRATA,
    Places,
    archived,
    bytes_by_table,
    make_fleet,
    meet,
)
from benchmarks.store.fleet import Fleet, Group, capture, visits_of
from benchmarks.store.vocabulary import APPLICATIONS, Ints, Vocabulary, make_vocabulary
from storage.database import open_engine
from storage.landing.identities import OF_THE_GROUP, OF_THE_MACHINE
from storage.landing.interning import Interner
from storage.rolling.compact import compact
from storage.rolling.fold import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from sqlalchemy import Engine

    from services.embedded.postgres import EmbeddedPostgres

PROCESSES: Final = 2
ROW_SHARE: Final = 8
"""One in so many visits is loaded as rows too, to compare how fast that goes."""
VISITS_AN_HOUR: Final = 625
"""Of 5000 machines, three a day each."""
_SEED: Final = 7


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    known: int
    """Stacks met before the run."""
    bulk: int
    """Facts loaded with known stacks."""
    landed: int
    """Facts landed end to end while the clock runs."""
    warming: int
    """Facts landed before the clock runs, by processes that remember nothing yet: what a cold one costs."""
    machines: int
    history: int
    """Facts of the 30 days before, loaded with known stacks."""
    meanwhile: int
    """Facts to land while questions are asked."""
    compared: str
    """The campaign whose history the peers have."""
    questions: asked.Counts
    new_share: float = 0.2


DEFAULT: Final = Size(
    known=450_000, bulk=2_500_000, landed=3_000_000, warming=500_000, machines=5000, history=4_000_000,
    meanwhile=600_000, compared="fleet", questions=asked.Counts(150, 40),
)  # fmt: skip
FULL: Final = Size(
    known=4_600_000, bulk=68_000_000, landed=5_000_000, warming=1_000_000, machines=5000, history=25_000_000,
    meanwhile=1_500_000, compared="deep", questions=asked.Counts(100, 40),
)  # fmt: skip


@dataclass
class Found:
    """Figures of a run; times in seconds."""

    facts: int = 0
    """When sizes were taken and days folded."""
    asked_facts: int = 0
    """When questions were asked: the month of history is among them."""
    profiles: int = 0
    stacks: int = 0
    median_facts: float = 0.0
    bulk_facts: int = 0
    bulk_s: float = 0.0
    row_facts: int = 0
    rows_s: float = 0.0
    row_bytes: int = 0
    rolled_bulk_facts: int = 0
    rolled_bulk_s: float = 0.0
    landings: list[landers.Landing] = field(default_factory=list)
    rolling: landers.Rolling | None = None
    server_cpu_s: float = 0.0
    """Of the whole server while captures were landed and merged."""
    sizes: dict[str, int] = field(default_factory=dict)
    """While the days go on: their hours are merged."""
    folded_bytes: int = 0
    """Added by the cells of whole days, when these are over."""
    fold_s: float = 0.0
    fold_cpu_s: float = 0.0
    """Of the client alone."""
    fold_server_cpu_s: float = 0.0
    history_s: float = 0.0
    history_facts: int = 0
    idle: asked.Answered | None = None
    landing: asked.Answered | None = None
    """While captures were landed, merged and folded."""
    compared: list[peers.Compared] = field(default_factory=list)


@dataclass
class _Made:
    """What the steps of a run share."""

    server: EmbeddedPostgres
    size: Size
    scratch: Path
    step: Callable[[str], None]
    engine: Engine
    vocabulary: Vocabulary
    fleet: Fleet
    places: Places
    ids: random.Random

    @property
    def url(self) -> str:
        return self.server.url()


def measure(server: EmbeddedPostgres, size: Size, scratch: Path, step: Callable[[str], None]) -> Found:
    """Everything, on an empty migrated database."""
    found = Found()
    rng = np.random.default_rng(_SEED)
    step("the code of the fleet")
    new = round((size.landed + size.warming + size.meanwhile) * size.new_share)
    vocabulary = make_vocabulary(size.known, new, rng)
    engine = open_engine(server.url(), application="bench")
    with engine.begin() as connection:
        places = make_fleet(connection, size.machines)
    fleet = Fleet(vocabulary, _SEED, machines=size.machines)
    made = _Made(server, size, scratch, step, engine, vocabulary, fleet, places, random.Random(_SEED))
    step("its dictionaries")
    stack_ids = meet(engine, vocabulary)
    constants, applications = _constants(engine)
    _bulk(made, found, stack_ids, constants, applications)
    step("captures to land")
    files, warming = _captures(made, size.landed, size.warming, 24 * (DAYS - 2))
    step("landing and rolling")
    _land(server, files, warming, found)
    with engine.connect() as connection:
        found.sizes = bytes_by_table(connection)
        count = connection.execute(
            text(
                "SELECT count(*), sum(facts), percentile_cont(0.5) WITHIN GROUP (ORDER BY facts) FROM profile"
            )
        )
        found.profiles, found.facts, found.median_facts = (x for x in count.one())
        found.facts = int(found.facts)
        found.stacks = connection.scalar(text("SELECT count(*) FROM stack")) or 0
    found.row_bytes = found.sizes.pop("fact_row", 0)
    step("folding its days")
    began, cpu, server_cpu = time.monotonic(), time.process_time(), tree_cpu_s(server.pid or 0)
    fold(engine, FIRST_DAY + timedelta(days=DAYS + 1))
    found.fold_s, found.fold_cpu_s = time.monotonic() - began, time.process_time() - cpu
    found.fold_server_cpu_s = tree_cpu_s(server.pid or 0) - server_cpu
    with engine.connect() as connection:
        found.folded_bytes = bytes_by_table(connection)["roll"] - found.sizes["roll"]
    _ask(made, found, stack_ids, constants, applications)
    engine.dispose()
    return found


def _ask(made: _Made, found: Found, stack_ids: Ints, constants: Constants, applications: Ints) -> None:
    """A month of history, and questions about it: idle, beside the peers, while captures land."""
    size, step, engine = made.size, made.step, made.engine
    step("a month of history")
    began = time.monotonic()
    visits = [
        _bulk_visit(made, machine, groups, stack_ids, applications, hour=0)
        for machine, groups in visits_of(made.fleet, size.history, new_share=0.0)
    ]
    visits = history.spread(visits)
    with engine.begin() as connection:
        versions = Interner(engine).labels("version", [f"r{n}" for n in range(history.VERSIONS)])
        visits = history.with_versions(visits, versions.astype(np.int64))
        archived(connection, made.places, [(v.visit_id, v.machine, v.hour) for v in visits], landed=True)
    compared = made.places.campaigns[size.compared == "deep"]
    found.history_facts = sum(len(visit.stacks) for visit in visits)
    of_peers = [visit for visit in visits if visit.campaign_id == compared]
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE fact_row"))
        connection.execute(text(ROWS_TABLE))
    _load(made, visits, constants, of_peers)
    peers.write_parquet(made.scratch / "parquet", of_peers)
    step("merging it into cells")
    landed = threading.Event()
    landed.set()
    landers.roll_all(made.url, landed)
    step("compacting its closed days")
    compact(engine, datetime.now(UTC))
    found.history_s = time.monotonic() - began
    with engine.connect() as connection:
        found.asked_facts = int(connection.scalar(text("SELECT sum(facts) FROM profile")) or 0)
    del visits, of_peers
    files, _ = _captures(made, size.meanwhile, 0, 24 * (DAYS - 1))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
    step("questions, idle")
    with asked.Asking(made.url, made.scratch, made.vocabulary.popularity, size.questions) as asking:
        found.idle = asking.ask()
        step("questions to the peers")
        names = {f"app{a:03d}": int(id_) for a, id_ in enumerate(applications.tolist())}
        both = peers.Peers(engine, made.scratch / "parquet")
        both.index()
        found.compared = peers.compare(asking.queries, both, size.compared, asking.draws, names)
        both.close()
        step("questions while captures land")
        with _landing_on(made.url, files):
            found.landing = asking.ask()


def _constants(engine: Engine) -> tuple[Constants, Ints]:
    """What all bulk profiles share, and the ids of the applications."""
    interner = Interner(engine)
    constants = Constants(
        int(interner.sample_types([("cpu", "nanoseconds")])[0]),
        int(interner.label_sets([{}])[0]),
        tuple(int(interner.labels(dim, [""])[0]) for dim in (*OF_THE_GROUP, *OF_THE_MACHINE)[2:]),
    )
    applications = interner.labels("application", [f"app{a:03d}" for a in range(APPLICATIONS)])
    return constants, applications.astype(np.int64)


def _bulk_visit(
    made: _Made, machine: int, groups: list[Group], stack_ids: Ints, applications: Ints, *, hour: int
) -> BulkVisit:  # fmt: skip
    visit_id = UUID(int=made.ids.getrandbits(128))
    # Stacks that differ in lines only are one.
    parts = [_summed(stack_ids[group.stacks], group.counts) for group in groups]
    return BulkVisit(
        visit_id,
        machine,
        made.places.machines[machine],
        made.places.strata[machine % STRATA],
        made.places.campaigns[visit_id.int % 5 == 0],
        hour,
        [int(applications[group.application]) for group in groups],
        np.array([len(part) for part, _ in parts]),
        np.concatenate([part for part, _ in parts]).astype(np.int32),
        np.concatenate([counts for _, counts in parts]).astype(np.int32),
    )


def _bulk(made: _Made, found: Found, stack_ids: Ints, constants: Constants, applications: Ints) -> None:
    made.step("visits to load in bulk")
    unversioned = int(Interner(made.engine).labels("version", [""])[0])
    visits = [
        replace(
            _bulk_visit(
                made, machine, groups, stack_ids, applications, hour=FIRST_HOUR + number // VISITS_AN_HOUR
            ),
            version=unversioned,
        )
        for number, (machine, groups) in enumerate(visits_of(made.fleet, made.size.bulk, new_share=0.0))
    ]
    with made.engine.begin() as connection:
        connection.execute(text(ROWS_TABLE))
        connection.execute(text(ROWS_INDEX))
        archived(
            connection,
            made.places,
            [(visit.visit_id, visit.machine, visit.hour) for visit in visits],
            landed=True,
        )
    made.step("loading in bulk, then as rows")
    as_rows = visits[: len(visits) // ROW_SHARE]
    found.bulk_s, found.rows_s = _load(made, visits, constants, as_rows)
    found.bulk_facts = sum(len(visit.stacks) for visit in visits)
    found.row_facts = sum(len(visit.stacks) for visit in as_rows)
    made.step("merging it into cells")
    landed = threading.Event()
    landed.set()
    rolled = landers.roll_all(made.url, landed)
    found.rolled_bulk_facts, found.rolled_bulk_s = rolled.facts, rolled.busy_s


def _load(
    made: _Made, visits: list[BulkVisit], constants: Constants, as_rows: list[BulkVisit]
) -> tuple[float, float]:
    """Seconds to load visits as chunks, and some of them as rows."""
    shares = [visits[n::PROCESSES] for n in range(PROCESSES)]
    rows = [as_rows[n::PROCESSES] for n in range(PROCESSES)]
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        start = manager.Barrier(PROCESSES)
        both = range(PROCESSES)
        times = list(
            pool.map(
                load, [made.url for _ in both], shares, [constants for _ in both], [start for _ in both], rows
            )
        )
    began, ended, rows_began, rows_ended = (list(column) for column in zip(*times, strict=True))
    return max(ended) - min(began), max(rows_ended) - min(rows_began)


def _summed(stacks: Ints, counts: Ints) -> tuple[Ints, Ints]:
    ids, index = np.unique(stacks, return_inverse=True)
    return ids, np.bincount(index, weights=counts).astype(np.int64)


def _captures(made: _Made, land: int, warm: int, first_hour: int) -> tuple[list[Path], int]:
    """Files of waiting captures, one a process, and how many of each are for warming up."""
    compressor = zstandard.ZstdCompressor(level=3)
    waiting, visits = [], []
    facts = warming = 0
    total = warm + land
    for number, (machine, groups) in enumerate(visits_of(made.fleet, total, new_share=made.size.new_share)):
        brought = capture(made.vocabulary, UUID(int=made.ids.getrandbits(128)), machine, groups)
        waiting.append(landers.Waiting(brought.visit_id, compressor.compress(brought.raw), brought.resolved))
        visits.append((brought.visit_id, machine, FIRST_HOUR + first_hour + number // VISITS_AN_HOUR))
        facts += brought.facts
        warming += facts <= warm
        if facts > total:
            break
    with made.engine.begin() as connection:
        archived(connection, made.places, visits, landed=False)
    files = []
    for n in range(PROCESSES):
        path = made.scratch / f"waiting-{first_hour}-{n}.pickle"
        path.write_bytes(pickle.dumps(waiting[n::PROCESSES], protocol=5))
        files.append(path)
    return files, warming // PROCESSES


@contextmanager
def _landing_on(url: str, files: list[Path]) -> Iterator[None]:
    """Captures land one after the other, at a fleet's pace, and are merged, for as long as the block."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(2, mp_context=context) as pool:
        stop, landed = manager.Event(), manager.Event()
        rolling = pool.submit(landers.roll_beside, url, landed)
        landing = pool.submit(landers.land_slowly, url, [str(path) for path in files], stop)
        try:
            yield
        finally:
            stop.set()
            try:
                landing.result()
            finally:
                landed.set()
            rolling.result()


def _start(start: threading.Barrier, running: Sequence[Future[Any]]) -> None:
    """Wait until all are at the barrier. Raises what one of them failed of before."""
    for each in running:
        # A process that is killed breaks no barrier itself.
        each.add_done_callback(lambda ended: start.abort() if ended.exception() else None)
    try:
        start.wait()
    except threading.BrokenBarrierError:
        for each in running:
            error = each.exception()
            if error is not None and not isinstance(error, threading.BrokenBarrierError):
                raise error from None
        raise


def _land(server: EmbeddedPostgres, files: list[Path], warming: int, found: Found) -> None:
    url = server.url()
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(PROCESSES + 1, mp_context=context) as pool:
        # The last at the barrier is this process: the server's time counts from there too.
        start, landed = manager.Barrier(PROCESSES + 1), manager.Event()
        rolling = pool.submit(landers.roll_beside, url, landed)
        running = [pool.submit(landers.land_all, url, str(path), warming, start) for path in files]
        try:
            _start(start, running)
            before = tree_cpu_s(server.pid or 0)
            found.landings = [each.result() for each in running]
        finally:
            landed.set()
        found.rolling = rolling.result()
        found.server_cpu_s = tree_cpu_s(server.pid or 0) - before
