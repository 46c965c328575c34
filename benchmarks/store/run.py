"""One run: a store in a folder, its measurements so far, and the finished phases.

folder/
  postgres/         the server: the dense store, and databases of the sparse store and of a peer
  store.pickle      `Loaded`, written after each phase
  stacks.npy        ids of the vocabulary's stacks
  *.pickle          captures and visits for later phases
  parquet/, lake/   the facts for the peer and in the lake
"""

from __future__ import annotations

import pickle
import sys
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.store.synthetic_store import SEED, Ids, SyntheticStore, again, make
from benchmarks.store.vocabulary import make_vocabulary
from storage.database import open_engine

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    from sqlalchemy import Engine

    from benchmarks.report import Value
    from benchmarks.store.calendar import Calendar
    from benchmarks.store.sizes import StoreSize
    from services.embedded.postgres import EmbeddedPostgres

_STATE: Final = "store.pickle"
_STACKS: Final = "stacks.npy"


@dataclass
class Loaded:
    """State of the store for later phases, and the figures so far."""

    size: StoreSize
    calendar: Calendar
    empty: dict[str, int]
    """Bytes by table before loading."""
    ids: Ids | None = None
    popularity: npt.NDArray[np.float64] | None = None
    """Share of each program in the fleet's process groups."""
    facts: int = 0
    """Facts of the dense history."""
    turns: int = 0
    """Number of times that waiting visits were loaded after the history."""
    figures: dict[str, tuple[Value, str]] = field(default_factory=dict)
    """Value and the peer's column, by key."""
    done: list[str] = field(default_factory=list)


class Run:
    """A run that phases read and change."""

    def __init__(self, server: EmbeddedPostgres, folder: Path, loaded: Loaded) -> None:
        self.server, self.folder, self.loaded = server, folder, loaded
        self._began = time.monotonic()
        self._made: SyntheticStore | None = None

    @property
    def size(self) -> StoreSize:
        """Size of this store."""
        return self.loaded.size

    @property
    def url(self) -> str:
        """URL of the dense store."""
        return self.server.url()

    @cached_property
    def engine(self) -> Engine:
        """Engine of the dense store."""
        return open_engine(self.url, application="bench")

    @property
    def begin_hour(self) -> int:
        """First hour of the history."""
        return self.loaded.calendar.end_hour - self.size.hours

    @property
    def ids(self) -> Ids:
        """Ids in the dense store."""
        if self.loaded.ids is None:
            raise RuntimeError("nothing is loaded")
        return self.loaded.ids

    def hour(self, facts: int) -> int:
        """The hour since 1970 at which the history reaches this number of facts."""
        return self.begin_hour + min(facts * self.size.hours // self.size.facts, self.size.hours - 1)

    def made(self, seed: int) -> SyntheticStore:
        """The fleet and its code, created once per process; another seed draws other visits."""
        if self._made is None:
            size, path = self.size, self.folder / _STACKS
            if not path.exists():
                self._made = make(
                    self.url, stacks=size.stacks, new=size.new_stacks, machines=size.machines,
                    days=self.loaded.calendar.days, deep_every=size.deep_every,
                )  # fmt: skip
                np.save(path, self._made.stacks)
            else:
                vocabulary = make_vocabulary(size.stacks, size.new_stacks, np.random.default_rng(SEED))
                self._made = again(vocabulary, np.load(path), self.ids, SEED)
        return again(self._made.vocabulary, self._made.stacks, self._made.ids, seed)

    def close(self) -> None:
        """Close connections; the server belongs to the caller."""
        self.engine.dispose()

    def forget_made(self) -> None:
        """Free the memory of the fleet's code."""
        self._made = None

    def add(self, key: str, value: Value, peer: str = "") -> None:
        """Add a figure."""
        self.loaded.figures[key] = value, peer

    def say(self, what: str) -> None:
        """Print a line of progress."""
        print(f"{time.monotonic() - self._began:6.0f} s  {what}", file=sys.stderr, flush=True)

    def save(self) -> None:
        """Write the state for later runs on this folder."""
        path = self.folder / _STATE
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_bytes(pickle.dumps(self.loaded, protocol=5))
        unfinished.rename(path)


def loaded_from(folder: Path) -> Loaded | None:
    """State of an earlier run; None without one."""
    path = folder / _STATE
    if not path.exists():
        return None
    found: Loaded = pickle.loads(path.read_bytes())  # written by this program
    return found
