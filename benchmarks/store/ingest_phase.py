"""The last part of the history: end-to-end ingestion of compressed captures while the rollup process merges."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import numpy as np
import zstandard

from benchmarks.cpu_time import tree_cpu_s
from benchmarks.store import ingest_processes
from benchmarks.store.database import archived
from benchmarks.store.fleet import capture, visits_of
from benchmarks.store.load_phase import MICRO
from benchmarks.store.synthetic_store import SEED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from benchmarks.store.run import Run
    from benchmarks.store.synthetic_store import SyntheticStore

PROCESSES: Final = 2
MEANWHILE: Final = "meanwhile.pickle"
_ZSTD_LEVEL: Final = 9
"""Compression level of gateways (gateway/capture/packer.py)."""
_SHOWN_FIRST: Final = "by processes that were shown every stack met and every name before"


def ingest(run: Run) -> None:
    """Ingest captures, by processes with empty caches and then with full ones, until everything is merged."""
    size = run.size
    total = size.ingested + size.warming
    run.say(f"ingest: making captures of {total:,} facts")
    made = run.made(SEED + 2)
    captures, raw_bytes = _captures(made, total, size.new_share)
    meanwhile, _ = _captures(made, size.meanwhile, size.new_share)
    (run.folder / MEANWHILE).write_bytes(pickle.dumps(meanwhile, protocol=5))
    run.forget_made()
    ends = np.cumsum([each.facts for each in captures])
    hours = [run.hour(size.bulk + int(end) - each.facts) for each, end in zip(captures, ends, strict=True)]
    draw(run, captures, hours)
    files = []
    for n in range(PROCESSES):
        files.append(run.folder / f"ingestion-{n}.pickle")
        files[-1].write_bytes(pickle.dumps(captures[n::PROCESSES], protocol=5))
    run.say(f"ingest: {ends[-1]:,} facts of {len(captures):,} visits")
    cold = max(1, int(np.count_nonzero(ends < size.warming)) // PROCESSES)
    ingestions, rolling, server_cpu_s = _ingest(run, files, cold)
    for path in files:
        path.unlink()
    _report(run, ingestions, rolling, server_cpu_s)
    blob_bytes = sum(len(each.blob) for each in captures)
    run.add(
        "archive_bytes_per_fact", blob_bytes / int(ends[-1]), f"compressed; {raw_bytes / ends[-1]:.1f} before"
    )
    run.loaded.facts += sum(each.facts + each.cold_facts for each in ingestions)


def draw(run: Run, captures: Sequence[ingest_processes.PendingCapture], hours: Sequence[int]) -> None:
    """Insert rows of the captures' visits, as if the collector had drawn and archived them in these hours."""
    with run.engine.begin() as connection:
        rows = [(each.visit_id, each.machine, hour) for each, hour in zip(captures, hours, strict=True)]
        archived(connection, run.ids.places, rows, ingested=False)


def _captures(
    made: SyntheticStore, facts: int, new_share: float
) -> tuple[list[ingest_processes.PendingCapture], int]:
    """Captures of visits with this number of facts in total, and their uncompressed bytes."""
    compressor = zstandard.ZstdCompressor(level=_ZSTD_LEVEL)
    captures: list[ingest_processes.PendingCapture] = []
    found = raw_bytes = 0
    for machine, groups in visits_of(made.fleet, facts, new_share=new_share):
        one = capture(made.vocabulary, UUID(int=made.rng.getrandbits(128)), machine, groups)
        blob = compressor.compress(one.raw)
        captures.append(ingest_processes.PendingCapture(one.visit_id, machine, one.facts, blob, one.resolved))
        found += one.facts
        raw_bytes += len(one.raw)
        if found >= facts:
            break
    return captures, raw_bytes


def _report(
    run: Run,
    ingestions: list[ingest_processes.Ingestion],
    rolling: ingest_processes.Rolling,
    server_cpu_s: float,
) -> None:
    facts = sum(each.facts for each in ingestions)
    began, ingested = min(each.began for each in ingestions), max(each.ended for each in ingestions)
    merged = max(rolling.drained, ingested)
    ingestion_cpu_s = sum(each.cpu_s for each in ingestions)
    # The rollup process also merged the facts ingested before the measurement.
    roll_cpu_s = rolling.cpu_s * facts / max(rolling.facts, facts)
    run.add("facts_ingested", facts)
    run.add(
        "ingest_facts_per_s", facts / (merged - began), f"captures, until they are in cells; {_SHOWN_FIRST}"
    )
    run.add("ingested_facts_per_s", facts / (ingested - began), "until queries see them")
    run.add(
        "ingest_facts_per_cpu_s",
        facts / (ingestion_cpu_s + roll_cpu_s + server_cpu_s),
        f"of ingestion, merging and the server together; {_SHOWN_FIRST}",
    )
    run.add("ingest_cpu_us_per_fact", ingestion_cpu_s / facts * MICRO, _SHOWN_FIRST)
    run.add(
        "ingest_cpu_us_per_fact_cold",
        sum(each.cold_cpu_s for each in ingestions) / sum(each.cold_facts for each in ingestions) * MICRO,
        "by the same processes before, when they remembered no stack and no function yet",
    )
    run.add(
        "roll_cpu_us_per_fact", rolling.cpu_s / max(rolling.facts, 1) * MICRO, "of the roller beside them"
    )
    run.add("server_cpu_us_per_fact", server_cpu_s / facts * MICRO, "ingestion, merging, and its own chores")
    run.add(
        "captures_per_transaction",
        sum(x.captures for x in ingestions) / sum(x.transactions for x in ingestions),
    )
    run.add("roll_lag_s", merged - ingested)
    run.add("roll_longest_queue", rolling.longest_wait, "visits")


def _ingest(
    run: Run, files: list[Path], cold: int
) -> tuple[list[ingest_processes.Ingestion], ingest_processes.Rolling, float]:
    """Results of each process, the merged facts, and CPU seconds of the server during the phase."""
    pid = run.server.pid or 0
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(PROCESSES + 1, mp_context=context) as pool:
        # This process reaches the barrier last: the server's time counts from there too.
        start, ingested = manager.Barrier(PROCESSES + 1), manager.Event()
        rolling = pool.submit(ingest_processes.roll_beside, run.url, ingested)
        running = [
            pool.submit(ingest_processes.ingest_all, run.url, str(path), cold, start) for path in files
        ]
        try:
            _start(start, running)
            before = tree_cpu_s(pid)
            ingestions = [each.result() for each in running]
        finally:
            ingested.set()
        return ingestions, rolling.result(), tree_cpu_s(pid) - before


@contextmanager
def ingestion_on(run: Run) -> Iterator[None]:
    """During the block, ingest captures of the day after the history at half a core's pace, and merge them."""
    captures: list[ingest_processes.PendingCapture] = pickle.loads(
        (run.folder / MEANWHILE).read_bytes()
    )  # written by this program
    first = run.loaded.calendar.end_hour
    draw(run, captures, [first] * len(captures))
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(2, mp_context=context) as pool:
        stop, ingested = manager.Event(), manager.Event()
        rolling = pool.submit(ingest_processes.roll_beside, run.url, ingested)
        ingestion = pool.submit(ingest_processes.ingest_slowly, run.url, str(run.folder / MEANWHILE), stop)
        try:
            yield
        finally:
            stop.set()
            try:
                facts, over = ingestion.result()
            finally:
                ingested.set()
            rolling.result()
    run.add(
        "facts_ingested_meanwhile",
        facts,
        "all that there were: the last answers had no ingestion beside them" if over else "",
    )


def _start(start: threading.Barrier, running: Sequence[Future[Any]]) -> None:
    """Wait until all processes reach the barrier. Raises the error of a process that failed before."""
    for each in running:
        # A killed process does not break the barrier itself.
        each.add_done_callback(lambda ended: start.abort() if ended.exception() else None)
    try:
        start.wait()
    except threading.BrokenBarrierError:
        for each in running:
            error = each.exception()
            if error is not None and not isinstance(error, threading.BrokenBarrierError):
                raise error from None
        raise
