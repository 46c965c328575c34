"""The dense history: load dictionaries and facts with known stacks, merged hour by hour."""

from __future__ import annotations

import pickle
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from benchmarks.store import ingest_processes
from benchmarks.store.bulk import Loader
from benchmarks.store.cost import Cost
from benchmarks.store.facts_files import write_facts
from benchmarks.store.synthetic_store import SEED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchmarks.store.bulk import BulkVisit
    from benchmarks.store.run import Run

WAITING: Final = "waiting.pickle"
PARQUET: Final = "parquet"
_PART: Final = 2_500_000
"""Facts per step of loading and merging."""
MICRO: Final = 1e6


def load(run: Run) -> None:
    """Fill an empty store with the history, except its last part."""
    size = run.size
    began = time.monotonic()
    run.say(f"load: the code of the fleet, {size.stacks:,} stacks")
    made = run.made(SEED)
    run.loaded.ids, run.loaded.popularity = made.ids, made.vocabulary.popularity
    run.say(f"load: dictionaries took {time.monotonic() - began:.1f} s")
    loader = Loader(run.url, made.ids)
    merging, loading_s, facts, visits = Cost(), 0.0, 0, 0
    for number, part in enumerate(parts(made.visits(size.bulk))):
        timed = []
        for visit in part:
            timed.append(replace(visit, hour=run.hour(facts)))
            facts += len(visit.stacks)
        loading_s += loader.load(timed)
        with merging.of(run.server):
            rollup(run.url)
        deep = [visit for visit in timed if visit.campaign_id == made.ids.places.campaigns[1]]
        if deep:
            write_facts(run.folder / PARQUET, number, deep)
        visits += len(part)
        run.say(
            f"load: {facts:,} of {size.bulk:,} facts, {visits:,} visits; loaded in {loading_s:.1f} s, merged in {merging.wall_s:.1f} s"
        )
    loader.close()
    run.add("bulk_facts_per_s", facts / loading_s, "stacks known; profiles, chunks and queue")
    run.add("roll_facts_per_s", facts / merging.wall_s, "of the same facts")
    run.add(
        "merge_cpu_us_per_fact",
        (merging.cpu_s + merging.server_cpu_s) / facts * MICRO,
        f"client {merging.cpu_s / facts * MICRO:.2f}, server {merging.server_cpu_s / facts * MICRO:.2f}",
    )
    run.loaded.facts = facts
    waiting = list(again_until(run, size.waiting))
    (run.folder / WAITING).write_bytes(pickle.dumps(waiting, protocol=5))


def again_until(run: Run, visits: int) -> Iterator[BulkVisit]:
    """`visits` visits that are not part of the history."""
    drawn = run.made(SEED + 1).visits(1 << 40)
    for _ in range(visits):
        yield next(drawn)


def parts(visits: Iterable[BulkVisit]) -> Iterator[list[BulkVisit]]:
    """The visits in parts of some million facts."""
    part: list[BulkVisit] = []
    facts = 0
    for visit in visits:
        part.append(visit)
        facts += len(visit.stacks)
        if facts >= _PART:
            yield part
            part, facts = [], 0
    if part:
        yield part


def rollup(url: str) -> None:
    """Merge all waiting visits."""
    ingested = threading.Event()
    ingested.set()
    ingest_processes.roll_all(url, ingested)
