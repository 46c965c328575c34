"""The builds of a function's binary in a selection, and the visits with the function in each."""

from dataclasses import dataclass

import numpy as np

from storage.arrays import Bool, Float, Int64, distinct, sum_at, weight_at
from storage.query.answers.disassembly import DisassembledBuild
from storage.query.answers.figures import as_seconds
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.occurrences import Occurrences
from storage.query.store_reading import StoreReading


@dataclass(frozen=True, slots=True)
class FunctionBuilds:
    """The builds of the function's binary."""

    keys: tuple[str, ...]
    listed: tuple[tuple[DisassembledBuild, int], ...]
    """Builds with the function, the heaviest first, and the index of each in `keys`."""
    unknown_samples: int
    visit: Int64
    """Columns over pairs of a visit with the function, and a build: index into the selection's visits."""
    build: Int64
    """Index into `keys`; -1: not known."""

    @property
    def heaviest(self) -> int | None:
        """The heaviest build; the newest one if the builds of all visits are unknown; None if there is none."""
        if self.listed:
            return self.listed[0][1]
        return len(self.keys) - 1 if self.keys and len(self.visit) else None

    def visits_of(self, build: int | None) -> Int64:
        """Visits with the function in this build, or in an unknown one: the visit had several builds."""
        if build is None:
            return np.zeros(0, np.int64)
        return distinct(self.visit[(self.build == build) | (self.build < 0)])[0]

    @classmethod
    def of(
        cls, reading: StoreReading, selection: Selection, samples: Samples, found: Occurrences
    ) -> "FunctionBuilds":
        """The builds in visits with the function."""
        none = np.zeros(0, np.int64)
        if not len(found.functions):
            return cls((), (), 0, none, none)
        row = reading.functions.row(int(found.functions[0]))
        builds = reading.builds(selection, samples.profiles, (row.binary,))
        # Markers and JIT code have no binary.
        of_profile = builds.of_profile.get(row.binary, np.full(len(samples.profiles), -1, np.int64))
        there, own_samples, own_weight = _by_profile(samples, found)
        own_units = own_samples * samples.profiles.period
        with_it = np.flatnonzero(there)
        places = len(builds.keys) + 1
        pairs = np.unique(samples.profiles.visit[with_it] * places + of_profile[with_it] + 1)
        visit, build = pairs // places, pairs % places - 1
        whole, scale = samples.whole, samples.kind.seconds_per_unit
        listed = []
        for number in np.unique(build[build >= 0]).tolist():
            mine = of_profile == number
            units, weight = int(own_units[mine].sum()), float(own_weight[mine].sum())
            entry = DisassembledBuild(
                key=builds.keys[number],
                binary=row.binary,
                visits=int((build == number).sum()),
                self_samples=int(own_samples[mine].sum()),
                self=units,
                self_seconds=as_seconds(units, scale),
                self_share=min(weight / whole, 1.0) if whole > 0 else 0.0,
            )
            listed.append((entry, number))
        listed.sort(key=lambda one: (-one[0].self, -one[0].visits, one[0].key))
        unknown = int(own_samples[of_profile < 0].sum())
        return cls(builds.keys, tuple(listed), unknown, visit, build)


def _by_profile(samples: Samples, found: Occurrences) -> tuple[Bool, Int64, Float]:
    """For each profile: whether a stack has the function; its own samples, and their estimated units."""
    shape, facts, count = samples.shape, samples.facts, len(samples.profiles)
    change = np.zeros(len(shape) + 1, np.int64)
    np.add.at(change, found.outermost, 1)
    np.add.at(change, shape.end[found.outermost], -1)
    below = np.cumsum(change)[:-1] > 0
    itself = np.zeros(len(shape), np.bool_)
    itself[found.nodes] = True
    there = np.zeros(count, np.bool_)
    there[facts.profile[below[shape.leaf]]] = True
    own = np.flatnonzero(itself[shape.leaf])
    profile_of = facts.profile[own]
    return (
        there,
        sum_at(profile_of, facts.samples[own], count),
        weight_at(profile_of, samples.weighted[own], count),
    )
