"""The last part of the history, landed end to end out of compressed captures while the roller merges."""

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
from benchmarks.store import landers
from benchmarks.store.database import archived
from benchmarks.store.fleet import capture, visits_of
from benchmarks.store.loading import MICRO
from benchmarks.store.made import SEED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from benchmarks.store.made import Made
    from benchmarks.store.run import Run

PROCESSES: Final = 2
MEANWHILE: Final = "meanwhile.pickle"
_ZSTD_LEVEL: Final = 9
"""As gateways compress (gateway/capture/packer.py)."""
_SHOWN_FIRST: Final = "by processes that were shown every stack met and every name before"


def land(run: Run) -> None:
    """Land captures, by processes with empty caches and then with full ones, until everything is merged."""
    size = run.size
    total = size.landed + size.warming
    run.say(f"land: making captures of {total:,} facts")
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
        files.append(run.folder / f"landing-{n}.pickle")
        files[-1].write_bytes(pickle.dumps(captures[n::PROCESSES], protocol=5))
    run.say(f"land: {ends[-1]:,} facts of {len(captures):,} visits")
    cold = max(1, int(np.count_nonzero(ends < size.warming)) // PROCESSES)
    landings, rolling, server_cpu_s = _land(run, files, cold)
    for path in files:
        path.unlink()
    _report(run, landings, rolling, server_cpu_s)
    blob_bytes = sum(len(each.blob) for each in captures)
    run.add(
        "archive_bytes_per_fact", blob_bytes / int(ends[-1]), f"compressed; {raw_bytes / ends[-1]:.1f} before"
    )
    run.loaded.facts += sum(each.facts + each.cold_facts for each in landings)


def draw(run: Run, captures: Sequence[landers.Waiting], hours: Sequence[int]) -> None:
    """Rows of the captures' visits, as if the collector had drawn them in these hours and archived them."""
    with run.engine.begin() as connection:
        rows = [(each.visit_id, each.machine, hour) for each, hour in zip(captures, hours, strict=True)]
        archived(connection, run.ids.places, rows, landed=False)


def _captures(made: Made, facts: int, new_share: float) -> tuple[list[landers.Waiting], int]:
    """Captures of visits with so many facts in all, and their bytes before they are compressed."""
    compressor = zstandard.ZstdCompressor(level=_ZSTD_LEVEL)
    captures: list[landers.Waiting] = []
    found = raw_bytes = 0
    for machine, groups in visits_of(made.fleet, facts, new_share=new_share):
        one = capture(made.vocabulary, UUID(int=made.rng.getrandbits(128)), machine, groups)
        blob = compressor.compress(one.raw)
        captures.append(landers.Waiting(one.visit_id, machine, one.facts, blob, one.resolved))
        found += one.facts
        raw_bytes += len(one.raw)
        if found >= facts:
            break
    return captures, raw_bytes


def _report(run: Run, landings: list[landers.Landing], rolling: landers.Rolling, server_cpu_s: float) -> None:
    facts = sum(each.facts for each in landings)
    began, landed = min(each.began for each in landings), max(each.ended for each in landings)
    merged = max(rolling.drained, landed)
    landing_cpu_s = sum(each.cpu_s for each in landings)
    # The roller has merged what was landed before the clock ran, too.
    roll_cpu_s = rolling.cpu_s * facts / max(rolling.facts, facts)
    run.add("facts_landed", facts)
    run.add(
        "land_facts_per_s", facts / (merged - began), f"captures, until they are in cells; {_SHOWN_FIRST}"
    )
    run.add("landed_facts_per_s", facts / (landed - began), "until queries see them")
    run.add(
        "land_facts_per_cpu_s",
        facts / (landing_cpu_s + roll_cpu_s + server_cpu_s),
        f"of landing, merging and the server together; {_SHOWN_FIRST}",
    )
    run.add("land_cpu_us_per_fact", landing_cpu_s / facts * MICRO, _SHOWN_FIRST)
    run.add(
        "land_cpu_us_per_fact_cold",
        sum(each.cold_cpu_s for each in landings) / sum(each.cold_facts for each in landings) * MICRO,
        "by the same processes before, when they remembered no stack and no function yet",
    )
    run.add(
        "roll_cpu_us_per_fact", rolling.cpu_s / max(rolling.facts, 1) * MICRO, "of the roller beside them"
    )
    run.add("server_cpu_us_per_fact", server_cpu_s / facts * MICRO, "landing, merging, and its own chores")
    run.add(
        "captures_per_transaction",
        sum(x.captures for x in landings) / sum(x.transactions for x in landings),
    )
    run.add("roll_lag_s", merged - landed)
    run.add("roll_longest_queue", rolling.longest_wait, "visits")


def _land(run: Run, files: list[Path], cold: int) -> tuple[list[landers.Landing], landers.Rolling, float]:
    """What each process landed, what was merged, and CPU seconds of the server meanwhile."""
    pid = run.server.pid or 0
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(PROCESSES + 1, mp_context=context) as pool:
        # The last at the barrier is this process: the server's time counts from there too.
        start, landed = manager.Barrier(PROCESSES + 1), manager.Event()
        rolling = pool.submit(landers.roll_beside, run.url, landed)
        running = [pool.submit(landers.land_all, run.url, str(path), cold, start) for path in files]
        try:
            _start(start, running)
            before = tree_cpu_s(pid)
            landings = [each.result() for each in running]
        finally:
            landed.set()
        return landings, rolling.result(), tree_cpu_s(pid) - before


@contextmanager
def landing_on(run: Run) -> Iterator[None]:
    """Captures of the day after the history land at half a core's pace, and are merged, for as long as the block."""
    captures: list[landers.Waiting] = pickle.loads((run.folder / MEANWHILE).read_bytes())  # our own file
    first = run.loaded.calendar.end_hour
    draw(run, captures, [first] * len(captures))
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(2, mp_context=context) as pool:
        stop, landed = manager.Event(), manager.Event()
        rolling = pool.submit(landers.roll_beside, run.url, landed)
        landing = pool.submit(landers.land_slowly, run.url, str(run.folder / MEANWHILE), stop)
        try:
            yield
        finally:
            stop.set()
            try:
                facts, over = landing.result()
            finally:
                landed.set()
            rolling.result()
    run.add(
        "facts_landed_meanwhile",
        facts,
        "all that there were: the last answers had no landing beside them" if over else "",
    )


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
