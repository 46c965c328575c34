"""The phases of a run, in their order."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from benchmarks.store.compact_phase import compact_days, fold_days, weigh_merged
from benchmarks.store.http_phase import restart, serve
from benchmarks.store.ingest_phase import ingest
from benchmarks.store.lake import keep_in_lake
from benchmarks.store.load_phase import load
from benchmarks.store.peers import ask_peers
from benchmarks.store.query_phase import ask_idle, ask_while_ingestion, ask_while_waiting
from benchmarks.store.sparse import keep_sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from benchmarks.store.run import Run

STORE: Final[dict[str, Callable[[Run], None]]] = {
    "load": load,
    "ingest": ingest,
    "merged": weigh_merged,
    "fold": fold_days,
    "compact": compact_days,
}
"""Phases that create the store, run once in this order."""
OTHERS: Final[dict[str, Callable[[Run], None]]] = {
    "sparse": keep_sparse,
    "lake": keep_in_lake,
    "questions": ask_idle,
    "peers": ask_peers,
    "ingestion": ask_while_ingestion,
    "waiting": ask_while_waiting,
    "serve": serve,
    "cold": restart,
}
"""Phases that measure an existing store; each can be repeated."""
PHASES: Final = STORE | OTHERS


def go_through(run: Run, only: Collection[str]) -> None:
    """Run every phase selected by `wanted`; the store is saved after each."""
    for name, phase in PHASES.items():
        over = name in run.loaded.done
        if not wanted(name, only, over=over):
            continue
        began = time.monotonic()
        phase(run)
        if not over:
            run.loaded.done.append(name)
        run.save()
        run.say(f"{name}: took {time.monotonic() - began:.1f} s")


def wanted(name: str, only: Collection[str], *, over: bool) -> bool:
    """Whether to run a phase: all unfinished ones, or those of `only`, repeated if necessary.

    Phases that create the store run once, and before any phase that needs it.
    """
    if name in STORE:
        return not over and (not only or name in only or not STORE.keys() >= set(only))
    return name in only if only else not over
