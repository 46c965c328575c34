"""A synthetic fleet in a database: its code, its dictionaries, and visits with stacks as ids."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

import numpy as np

from benchmarks.store.bulk import BulkVisit, Constants
from benchmarks.store.database import STRATA, Places, make_fleet, meet
from benchmarks.store.fleet import Fleet, visits_of
from benchmarks.store.vocabulary import APPLICATIONS, Ints, Vocabulary, make_vocabulary
from storage.database import open_engine
from storage.ingest.interning import Interner
from storage.schema import OF_THE_GROUP, OF_THE_MACHINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from sqlalchemy import Engine

    from benchmarks.store.fleet import Group

VERSIONS: Final = 5
SEED: Final = 7


@dataclass(frozen=True)
class Ids:
    """Ids that rows of visits and profiles refer to."""

    places: Places
    constants: Constants
    applications: Ints
    """Ids by the number of the program."""
    versions: Ints
    """Ids of `r0`, `r1`, …: machine m has version m % VERSIONS of all its programs."""


@dataclass
class SyntheticStore:
    """A fleet and its code; deterministic by its sizes."""

    vocabulary: Vocabulary
    fleet: Fleet
    stacks: Ints
    """Ids of the vocabulary's stacks; 0 if unknown to the store."""
    ids: Ids
    rng: random.Random
    """Source of the visits' ids."""

    def visits(self, facts: int) -> Iterator[BulkVisit]:
        """Visits with known stacks and this number of facts in total, of hour 0."""
        for machine, groups in visits_of(self.fleet, facts, new_share=0.0):
            yield self._visit(machine, groups)

    def _visit(self, machine: int, groups: list[Group]) -> BulkVisit:
        visit_id = UUID(int=self.rng.getrandbits(128))
        places = self.ids.places
        # Stacks that differ only in lines count as one.
        parts = [_summed(self.stacks[group.stacks], group.counts) for group in groups]
        return BulkVisit(
            visit_id,
            machine,
            places.machines[machine],
            places.strata[machine % STRATA],
            places.campaign(visit_id),
            0,
            [int(self.ids.applications[group.application]) for group in groups],
            np.array([len(part) for part, _ in parts]),
            np.concatenate([part for part, _ in parts]).astype(np.int32),
            np.concatenate([counts for _, counts in parts]).astype(np.int32),
            int(self.ids.versions[machine % VERSIONS]),
        )


def make(
    url: str, *, stacks: int, new: int, machines: int, days: Iterable[date], deep_every: int
) -> SyntheticStore:
    """Insert a fleet and its known stacks into an empty migrated database; `new` stacks are reserved for captures."""
    vocabulary = make_vocabulary(stacks, new, np.random.default_rng(SEED))
    engine = open_engine(url, application="bench")
    with engine.begin() as connection:
        places = make_fleet(connection, machines, days, deep_every=deep_every)
    known = meet(engine, vocabulary)
    made = again(vocabulary, known, _ids(engine, places), SEED)
    engine.dispose()
    return made


def again(vocabulary: Vocabulary, stacks: Ints, ids: Ids, seed: int) -> SyntheticStore:
    """The same fleet, with other visits for another seed."""
    fleet = Fleet(vocabulary, seed, machines=len(ids.places.machines))
    return SyntheticStore(vocabulary, fleet, stacks, ids, random.Random(seed))


def _ids(engine: Engine, places: Places) -> Ids:
    interner = Interner(engine)
    constants = Constants(
        int(interner.sample_types([("cpu", "nanoseconds")])[0]),
        int(interner.label_sets([{}])[0]),
        tuple(int(interner.labels(dim, [""])[0]) for dim in (*OF_THE_GROUP, *OF_THE_MACHINE)[2:]),
    )
    applications = interner.labels("application", [f"app{a:03d}" for a in range(APPLICATIONS)])
    versions = interner.labels("version", [f"r{n}" for n in range(VERSIONS)])
    return Ids(places, constants, applications.astype(np.int64), versions.astype(np.int64))


def _summed(stacks: Ints, counts: Ints) -> tuple[Ints, Ints]:
    ids, index = np.unique(stacks, return_inverse=True)
    return ids, np.bincount(index, weights=counts).astype(np.int64)
