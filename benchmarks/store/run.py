"""One run: make a fleet and its code, load it in bulk, land captures, and look at what it takes."""

from __future__ import annotations

import multiprocessing
import pickle
import random
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

import numpy as np
import zstandard
from sqlalchemy import text

from benchmarks.cpu_time import tree_cpu_s
from benchmarks.store import landers
from benchmarks.store.bulk import ROW_SHARE, ROWS_TABLE, BulkVisit, Constants, load
from benchmarks.store.database import (
    DAYS,
    FIRST_DAY,
    STRATA,
    Places,
    archived,
    bytes_by_table,
    make_fleet,
    meet,
)
from benchmarks.store.fleet import Fleet, capture, visits_of
from benchmarks.store.vocabulary import APPLICATIONS, Ints, Vocabulary, make_vocabulary
from storage.database import open_engine
from storage.landing.identities import OF_THE_GROUP, OF_THE_MACHINE
from storage.landing.interning import Interner
from storage.rolling.fold import fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

    from services.embedded.postgres import EmbeddedPostgres

PROCESSES: Final = 2
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
    """Facts landed before, so that the workers remember what such workers would."""
    machines: int
    new_share: float = 0.2


DEFAULT: Final = Size(known=450_000, bulk=6_500_000, landed=3_000_000, warming=500_000, machines=5000)
FULL: Final = Size(known=4_400_000, bulk=94_000_000, landed=5_000_000, warming=1_000_000, machines=5000)


@dataclass
class Found:
    """Figures of a run; times in seconds."""

    facts: int = 0
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


def measure(server: EmbeddedPostgres, size: Size, scratch: Path, step: Callable[[str], None]) -> Found:
    """Everything, on an empty migrated database."""
    found = Found()
    url = server.url()
    rng = np.random.default_rng(_SEED)
    ids = random.Random(_SEED)
    step("the code of the fleet")
    new = round((size.landed + size.warming) * size.new_share)
    vocabulary = make_vocabulary(size.known, new, rng)
    fleet = Fleet(vocabulary, _SEED, machines=size.machines)
    engine = open_engine(url, application="bench")
    with engine.begin() as connection:
        places = make_fleet(connection, size.machines)
    step("its dictionaries")
    stack_ids = meet(engine, vocabulary)
    _bulk(url, engine, size, found, fleet, places, stack_ids, ids, step)
    files, warming = _captures(engine, size, vocabulary, fleet, places, ids, scratch, step)
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
    engine.dispose()
    return found


def _bulk(  # noqa: PLR0917 - one step of a run
    url: str, engine: Engine, size: Size, found: Found, fleet: Fleet, places: Places, stack_ids: Ints,
    ids: random.Random, step: Callable[[str], None],
) -> None:  # fmt: skip
    step("visits to load in bulk")
    interner = Interner(engine)
    applications = interner.labels("application", [f"app{a:03d}" for a in range(APPLICATIONS)])
    constants = Constants(
        int(interner.sample_types([("cpu", "nanoseconds")])[0]),
        int(interner.label_sets([{}])[0]),
        tuple(int(interner.labels(dim, [""])[0]) for dim in (*OF_THE_GROUP, *OF_THE_MACHINE)[1:]),
    )
    visits = []
    for number, (machine, groups) in enumerate(visits_of(fleet, size.bulk, new_share=0.0)):
        visit_id = UUID(int=ids.getrandbits(128))
        # Stacks that differ in lines only are one.
        parts = [_summed(stack_ids[group.stacks], group.counts) for group in groups]
        visits.append(
            BulkVisit(
                visit_id,
                machine,
                places.machines[machine],
                places.strata[machine % STRATA],
                places.campaigns[visit_id.int % 5 == 0],
                number // VISITS_AN_HOUR,
                [int(applications[group.application]) for group in groups],
                np.array([len(part) for part, _ in parts]),
                np.concatenate([part for part, _ in parts]),
                np.concatenate([counts for _, counts in parts]),
            )
        )
    with engine.begin() as connection:
        connection.execute(text(ROWS_TABLE))
        archived(
            connection, places, [(visit.visit_id, visit.machine, visit.hour) for visit in visits], landed=True
        )
    step("loading in bulk, then as rows")
    shares = [visits[n::PROCESSES] for n in range(PROCESSES)]
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        start = manager.Barrier(PROCESSES)
        times = list(pool.map(load, [url] * PROCESSES, shares, [constants] * PROCESSES, [start] * PROCESSES))
    began, ended, rows_began, rows_ended = (list(column) for column in zip(*times, strict=True))
    found.bulk_facts = sum(len(visit.stacks) for visit in visits)
    found.bulk_s = max(ended) - min(began)
    found.row_facts = sum(len(v.stacks) for share in shares for v in share[: len(share) // ROW_SHARE])
    found.rows_s = max(rows_ended) - min(rows_began)
    step("merging it into cells")
    landed = threading.Event()
    landed.set()
    rolled = landers.roll_all(url, landed)
    found.rolled_bulk_facts, found.rolled_bulk_s = rolled.facts, rolled.busy_s


def _summed(stacks: Ints, counts: Ints) -> tuple[Ints, Ints]:
    ids, index = np.unique(stacks, return_inverse=True)
    return ids, np.bincount(index, weights=counts).astype(np.int64)


def _captures(  # noqa: PLR0917 - one step of a run
    engine: Engine, size: Size, vocabulary: Vocabulary, fleet: Fleet, places: Places, ids: random.Random,
    scratch: Path, step: Callable[[str], None],
) -> tuple[list[Path], int]:  # fmt: skip
    """Files of waiting captures, one a process, and how many of each are for warming up."""
    step("captures to land")
    compressor = zstandard.ZstdCompressor(level=3)
    waiting, visits = [], []
    facts = warming = 0
    total = size.warming + size.landed
    for number, (machine, groups) in enumerate(visits_of(fleet, total, new_share=size.new_share)):
        brought = capture(vocabulary, UUID(int=ids.getrandbits(128)), machine, groups)
        waiting.append(landers.Waiting(brought.visit_id, compressor.compress(brought.raw), brought.resolved))
        visits.append((brought.visit_id, machine, 24 * (DAYS - 1) + number // VISITS_AN_HOUR))
        facts += brought.facts
        warming += facts <= size.warming
        if facts > total:
            break
    with engine.begin() as connection:
        archived(connection, places, visits, landed=False)
    files = []
    for n in range(PROCESSES):
        path = scratch / f"waiting-{n}.pickle"
        path.write_bytes(pickle.dumps(waiting[n::PROCESSES], protocol=5))
        files.append(path)
    return files, warming // PROCESSES


def _land(server: EmbeddedPostgres, files: list[Path], warming: int, found: Found) -> None:
    url = server.url()
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(PROCESSES + 1, mp_context=context) as pool:
        # The last at the barrier is this process: the server's time counts from there too.
        start, landed = manager.Barrier(PROCESSES + 1), manager.Event()
        rolling = pool.submit(landers.roll_all, url, landed)
        running = [pool.submit(landers.land_all, url, str(path), warming, start) for path in files]
        try:
            start.wait()
            before = tree_cpu_s(server.pid or 0)
            found.landings = [each.result() for each in running]
        finally:
            landed.set()
        found.rolling = rolling.result()
        found.server_cpu_s = tree_cpu_s(server.pid or 0) - before
