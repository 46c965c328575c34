"""Landing processes, fed with blobs and resolved frames, and the roller beside them."""

from __future__ import annotations

import gc
import pickle
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from storage.database import open_engine
from storage.landing.decode import decode_capture
from storage.landing.interning import Interner
from storage.landing.land import ToLand, land_many
from storage.landing.resolved import ResolvedFrames
from storage.rolling.roll import WORTH_MERGING, Roller
from symbolizer.worker.landing import DEFAULT_TERMS

if TYPE_CHECKING:
    from threading import Barrier, Event
    from uuid import UUID

TOGETHER: Final = DEFAULT_TERMS.together
_LOOK_EVERY_S: Final = 0.05


@dataclass(frozen=True)
class Waiting:
    """A capture as it lies in the archive, with what symbolization will say of its frames."""

    visit_id: UUID
    blob: bytes
    resolved: ResolvedFrames


@dataclass(frozen=True)
class Landing:
    """What one process landed; times by the machine's monotonic clock."""

    began: float
    ended: float
    facts: int
    transactions: int
    captures: int
    cpu_s: float


def land_all(url: str, path: str, warming: int, start: Barrier) -> Landing:
    """Land the captures pickled in a file, the first `warming` of them before the clock runs."""
    waiting: list[Waiting] = pickle.loads(Path(path).read_bytes())  # our own file
    engine = open_engine(url, application="worker", pool_size=2)
    interner = Interner(engine)
    gc.collect()
    gc.freeze()  # what is loaded here would lie in the archive and the caches of a worker

    def batches(captures: list[Waiting]) -> tuple[int, int]:
        facts = transactions = 0
        for first in range(0, len(captures), TOGETHER):
            items = [
                ToLand(each.visit_id, 1, decode_capture(each.blob), each.resolved)
                for each in captures[first : first + TOGETHER]
            ]
            for landed in land_many(engine, interner, items):
                if landed.outcome != "landed":
                    raise RuntimeError(f"a capture was not landed: {landed}")
                facts += landed.facts
            transactions += 1
        return facts, transactions

    batches(waiting[:warming])
    start.wait()
    began, cpu = time.monotonic(), time.process_time()
    facts, transactions = batches(waiting[warming:])
    return Landing(
        began, time.monotonic(), facts, transactions, len(waiting) - warming, time.process_time() - cpu
    )


def land_slowly(url: str, paths: list[str], stop: Event) -> int:
    """Land captures in small batches with pauses as long as the work, half a core's worth, until told to stop."""
    engine = open_engine(url, application="worker", pool_size=2)
    interner = Interner(engine)
    waiting = [
        capture for path in paths for capture in pickle.loads(Path(path).read_bytes())
    ]  # our own files
    facts = 0
    for first in range(0, len(waiting), TOGETHER):
        began = time.monotonic()
        items = [
            ToLand(each.visit_id, 1, decode_capture(each.blob), each.resolved)
            for each in waiting[first : first + TOGETHER]
        ]
        facts += sum(landed.facts for landed in land_many(engine, interner, items))
        if stop.wait(time.monotonic() - began):
            break
    return facts


@dataclass(frozen=True)
class Rolling:
    """What the roller merged."""

    facts: int
    busy_s: float
    drained: float
    """When the queue was empty after everything had landed, by the monotonic clock."""
    cpu_s: float
    longest_wait: int
    """Visits in the queue, at most, when it looked."""


def roll_all(url: str, landed: Event) -> Rolling:
    """Merge a batch as soon as one waits, as the collector does, and the rest when all has landed."""
    engine = open_engine(url, application="roller", pool_size=2)
    roller = Roller(engine)
    facts, busy, longest = 0, 0.0, 0
    cpu = time.process_time()
    while True:
        last = landed.is_set()
        with engine.connect() as connection:
            waiting = connection.scalar(text("SELECT count(*) FROM roll_queue")) or 0
        longest = max(longest, waiting)
        began = time.monotonic()
        while last or waiting >= WORTH_MERGING:
            rolled = roller.roll()
            facts += rolled.facts
            waiting -= rolled.entries
            if not rolled.entries:
                break
        busy += time.monotonic() - began
        if last:
            return Rolling(facts, busy, time.monotonic(), time.process_time() - cpu, longest)
        landed.wait(_LOOK_EVERY_S)
