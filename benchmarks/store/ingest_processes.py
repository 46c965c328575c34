"""Ingestion processes, fed with blobs and resolved frames, and the roller beside them.

A worker lives for weeks and forgets what it knew of dictionaries once a week, when they are swept. Half of
a fleet's facts of one day show it the rarest stack of each program a dozen times: what it ingests by then is
new to the store or remembered, as far as its memory goes. So what counts is ingested by processes that were
shown everything that had been met; what they cost before they were is a figure of its own.
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
    """A capture as it lies in the archive, with what symbolization will say of its frames."""

    visit_id: UUID
    machine: int
    """Number in the fleet."""
    facts: int
    blob: bytes
    resolved: ResolvedFrames


@dataclass(frozen=True)
class Ingestion:
    """What one process ingested; times by the machine's monotonic clock."""

    began: float
    ended: float
    facts: int
    transactions: int
    captures: int
    cpu_s: float
    cold_facts: int
    """Ingested before, while it remembered nothing but what it ingested itself."""
    cold_cpu_s: float


def ingest_all(url: str, path: str, cold: int, start: Barrier) -> Ingestion:
    """Ingest the captures pickled in a file, the first `cold` of them before the process is shown what was met."""
    share_arenas()  # as a worker's processes do
    reuse_arrays()
    trim_periodically(_TRIM_INTERVAL_S)
    waiting: list[PendingCapture] = pickle.loads(Path(path).read_bytes())  # our own file
    engine = open_engine(url, application="worker", pool_size=2)
    interner = Interner(engine)
    gc.collect()
    gc.freeze()  # what is loaded here would lie in the archive and the caches of a worker

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
        start.abort()  # or the others would wait for ever
        raise
    start.wait()
    began, cpu = time.monotonic(), time.process_time()
    facts, transactions = batches(waiting[cold:])
    return Ingestion(
        began, time.monotonic(), facts, transactions, len(waiting) - cold, time.process_time() - cpu,
        cold_facts, cold_cpu_s,
    )  # fmt: skip


def _meet_all(engine: Engine, interner: Interner, waiting: list[PendingCapture]) -> None:
    """Show the interner every stack there is, in random order, and the names that images at hand keep."""
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
            # They are there: their functions are not looked at.
            nothing = np.zeros(len(asked), np.int64)
            return StackRows(np.arange(len(asked)), part[asked], nothing, np.empty(0, np.int32))  # noqa: B023 - called before the next part

        interner.stacks(part, rows_of)


def ingest_slowly(url: str, path: str, stop: Event) -> tuple[int, bool]:
    """Ingest captures in small batches with pauses as long as the work, half a core's worth, until `stop` is set.

    How many facts it ingested, and whether that was all of them before it was stopped. Captures that have ingested already are skipped.
    """
    engine = open_engine(url, application="worker", pool_size=2)
    interner = Interner(engine)
    waiting: list[PendingCapture] = pickle.loads(Path(path).read_bytes())  # our own file
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
    """What the roller merged."""

    facts: int
    busy_s: float
    drained: float
    """When the queue was empty after everything had ingested, by the monotonic clock."""
    cpu_s: float
    longest_wait: int
    """Visits in the queue, at most, when it looked."""


def roll_beside(url: str, ingested: Event) -> Rolling:
    """As `roll_all`, in a process of its own that has memory as the collector has."""
    share_arenas()
    reuse_arrays()
    trim_periodically(_TRIM_INTERVAL_S)
    return roll_all(url, ingested)


def roll_all(url: str, ingested: Event) -> Rolling:
    """Merge a batch as soon as one waits, as the collector does, and the rest when all has been ingested."""
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
