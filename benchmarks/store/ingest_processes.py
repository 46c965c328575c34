"""Ingestion processes, fed with blobs and resolved frames, and the rollup process beside them.

A worker lives for weeks and drops its cached dictionaries once a week, when they are swept. Half of a fleet's facts of
one day contain the rarest stack of each program a dozen times: after that, a stack is either new to the store or
cached, as far as memory allows. The main figures are therefore for processes whose caches contain everything known; the
cost before that is a separate figure.
"""

from __future__ import annotations

import gc
import io
import pickle
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from sqlalchemy import text

from services.process_setup.malloc import reuse_arrays, share_arenas, trim_periodically
from storage.database import open_engine
from storage.ingest.copy_in import HEADER, TRAILER, copy_stream
from storage.ingest.decode_capture import decode_capture
from storage.ingest.ingest import ToIngest, ingest_many
from storage.ingest.interning import Interner
from storage.ingest.marker_frames import Kind
from storage.ingest.stack_rows import StackRows
from storage.rollup.apply_queue import WORTH_MERGING, RollupWriter
from storage.rollup.dead_rows import DeadRows
from symbolizer.worker.ingestion import DEFAULT_TERMS

if TYPE_CHECKING:
    from threading import Barrier, Event
    from uuid import UUID

    from sqlalchemy import Engine

    from storage.ingest.hash_table import Int64s
    from storage.ingest.symbolized import ResolvedFrames

TOGETHER: Final = DEFAULT_TERMS.batch
_LOOK_EVERY_S: Final = 0.05
_TRIM_INTERVAL_S: Final = 15.0
_PART: Final = 50_000


@dataclass(frozen=True)
class PendingCapture:
    """A capture as stored in the archive, with the symbolization of its frames."""

    visit_id: UUID
    machine: int
    """Number in the fleet."""
    facts: int
    blob: bytes
    resolved: ResolvedFrames


@dataclass(frozen=True)
class Ingestion:
    """Results of one process; times by the machine's monotonic clock."""

    began: float
    ended: float
    facts: int
    transactions: int
    captures: int
    cpu_s: float
    cold_facts: int
    """Facts ingested earlier, with caches that started empty."""
    cold_cpu_s: float


def ingest_all(url: str, path: str, cold: int, start: Barrier) -> Ingestion:
    """Ingest the captures pickled in a file, the first `cold` of them before the caches are filled."""
    share_arenas()  # as in a worker's processes
    reuse_arrays()
    trim_periodically(_TRIM_INTERVAL_S)
    waiting: list[PendingCapture] = pickle.loads(Path(path).read_bytes())  # written by this program
    engine = open_engine(url, application="worker", pool_size=2)
    interner = Interner(engine)
    gc.collect()
    gc.freeze()  # a worker has this data in the archive and its caches

    def batches(captures: list[PendingCapture]) -> tuple[int, int]:
        facts = transactions = 0
        for first in range(0, len(captures), TOGETHER):
            items = [
                ToIngest(each.visit_id, 1, decode_capture(each.blob), each.resolved)
                for each in captures[first : first + TOGETHER]
            ]
            for ingested in ingest_many(engine, interner, items):
                if ingested.outcome != "ingested":
                    raise RuntimeError(f"a capture was not ingested: {ingested}")
                facts += ingested.facts
            transactions += 1
        return facts, transactions

    cpu = time.process_time()
    try:
        cold_facts, _ = batches(waiting[:cold])
        cold_cpu_s = time.process_time() - cpu
        _meet_all(engine, interner, waiting)
    except BaseException:
        start.abort()  # or the others would wait forever
        raise
    start.wait()
    began, cpu = time.monotonic(), time.process_time()
    facts, transactions = batches(waiting[cold:])
    return Ingestion(
        began, time.monotonic(), facts, transactions, len(waiting) - cold, time.process_time() - cpu,
        cold_facts, cold_cpu_s,
    )  # fmt: skip


def _meet_all(engine: Engine, interner: Interner, waiting: list[PendingCapture]) -> None:
    """Fill the interner's caches with every stack, in random order, and with the names in images' caches."""
    names = {id(name): name for each in waiting for name in each.resolved.functions}
    interner.functions(list(names.values()), [Kind.USER] * len(names))
    buffer = io.BytesIO()
    with engine.connect() as connection:
        copy_stream(connection, "COPY stack (hash) TO STDOUT WITH (FORMAT binary)", buffer)
    row = np.dtype([("fields", ">i2"), ("length", ">i4"), ("hash", ">u8", 2)])
    rows = np.frombuffer(buffer.getbuffer()[len(HEADER) : -len(TRAILER)], row)
    hashes = np.random.default_rng(1).permutation(rows["hash"].astype(np.uint64))
    for part in np.array_split(hashes, 1 + len(hashes) // _PART):

        def rows_of(asked: Int64s) -> StackRows:
            # The stacks exist, so their functions are not read.
            nothing = np.zeros(len(asked), np.int64)
            return StackRows(np.arange(len(asked)), part[asked], nothing, np.empty(0, np.int32))  # noqa: B023 - called before the next part

        interner.stacks(part, rows_of)


def ingest_slowly(url: str, path: str, stop: Event) -> tuple[int, bool]:
    """Ingest captures in small batches with pauses as long as the work, half a core's worth, until `stop` is set.

    Returns the number of ingested facts, and whether all were ingested before the stop. Ingested captures are skipped.
    """
    engine = open_engine(url, application="worker", pool_size=2)
    interner = Interner(engine)
    waiting: list[PendingCapture] = pickle.loads(Path(path).read_bytes())  # written by this program
    facts = 0
    for first in range(0, len(waiting), TOGETHER):
        began = time.monotonic()
        items = [
            ToIngest(each.visit_id, 1, decode_capture(each.blob), each.resolved)
            for each in waiting[first : first + TOGETHER]
        ]
        facts += sum(ingested.facts for ingested in ingest_many(engine, interner, items))
        if stop.wait(time.monotonic() - began):
            return facts, False
    return facts, True


@dataclass(frozen=True)
class Rolling:
    """Results of the rollup process."""

    facts: int
    busy_s: float
    drained: float
    """Time at which the queue was empty after the end of ingestion, by the monotonic clock."""
    cpu_s: float
    longest_wait: int
    """Longest observed queue, in visits."""


def roll_beside(url: str, ingested: Event) -> Rolling:
    """As `roll_all`, in a separate process with the collector's memory settings."""
    share_arenas()
    reuse_arrays()
    trim_periodically(_TRIM_INTERVAL_S)
    return roll_all(url, ingested)


def roll_all(url: str, ingested: Event) -> Rolling:
    """Merge each batch as soon as it waits, as the collector does, and the rest after ingestion."""
    engine = open_engine(url, application="roller", pool_size=2)
    writer, dead_rows = RollupWriter(engine), DeadRows(engine)
    facts, busy, longest = 0, 0.0, 0
    cpu = time.process_time()
    while True:
        last = ingested.is_set()
        with engine.connect() as connection:
            waiting = connection.scalar(text("SELECT count(*) FROM rollup_queue")) or 0
        longest = max(longest, waiting)
        began = time.monotonic()
        while last or waiting >= WORTH_MERGING:
            rolled_up = writer.rollup()
            facts += rolled_up.facts
            waiting -= rolled_up.entries
            dead_rows.clear()
            if not rolled_up.entries:
                break
        busy += time.monotonic() - began
        if last:
            return Rolling(facts, busy, time.monotonic(), time.process_time() - cpu, longest)
        ingested.wait(_LOOK_EVERY_S)
