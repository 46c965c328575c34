"""One run: a store in a folder, what was measured of it so far, and which phases are over.

folder/
  postgres/         the server: the dense store, and beside it databases of the sparse one and of a peer
  store.pickle      `Loaded`, written after each phase
  stacks.npy        ids of the vocabulary's stacks
  *.pickle          captures and visits for later phases
  parquet/, lake/   the facts as the peer and the lake have them
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
    """What later phases need of a store, and the figures so far."""

    size: StoreSize
    calendar: Calendar
    empty: dict[str, int]
    """Bytes by table before anything was loaded."""
    ids: Ids | None = None
    popularity: npt.NDArray[np.float64] | None = None
    """Share of each program in the fleet's process groups."""
    facts: int = 0
    """Of the dense history."""
    turns: int = 0
    """Times that visits were loaded after the history, to wait."""
    figures: dict[str, tuple[Value, str]] = field(default_factory=dict)
    """Value and the peer's column, by key."""
    done: list[str] = field(default_factory=list)


class Run:
    """Phases read and change it."""

    def __init__(self, server: EmbeddedPostgres, folder: Path, loaded: Loaded) -> None:
        self.server, self.folder, self.loaded = server, folder, loaded
        self._began = time.monotonic()
        self._made: SyntheticStore | None = None

    @property
    def size(self) -> StoreSize:
        """Of this store."""
        return self.loaded.size

    @property
    def url(self) -> str:
        """Of the dense store."""
        return self.server.url()

    @cached_property
    def engine(self) -> Engine:
        """Of the dense store."""
        return open_engine(self.url, application="bench")

    @property
    def begin_hour(self) -> int:
        """Of the history."""
        return self.loaded.calendar.end_hour - self.size.hours

    @property
    def ids(self) -> Ids:
        """Of the dense store."""
        if self.loaded.ids is None:
            raise RuntimeError("nothing is loaded")
        return self.loaded.ids

    def hour(self, facts: int) -> int:
        """The hour since 1970 that the visit is of before which the history has this many facts."""
        return self.begin_hour + min(facts * self.size.hours // self.size.facts, self.size.hours - 1)

    def made(self, seed: int) -> SyntheticStore:
        """The fleet and its code, made again if this process has not made it; another seed draws other visits."""
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
        """Close connections; the server stays its owner's."""
        self.engine.dispose()

    def forget_made(self) -> None:
        """Free the memory of the fleet's code."""
        self._made = None

    def add(self, key: str, value: Value, peer: str = "") -> None:
        """Note a figure."""
        self.loaded.figures[key] = value, peer

    def say(self, what: str) -> None:
        """A line of progress."""
        print(f"{time.monotonic() - self._began:6.0f} s  {what}", file=sys.stderr, flush=True)

    def save(self) -> None:
        """Write what later runs over this folder need."""
        path = self.folder / _STATE
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_bytes(pickle.dumps(self.loaded, protocol=5))
        unfinished.rename(path)


def loaded_from(folder: Path) -> Loaded | None:
    """What an earlier run left; None: nothing."""
    path = folder / _STATE
    if not path.exists():
        return None
    found: Loaded = pickle.loads(path.read_bytes())  # our own file
    return found
