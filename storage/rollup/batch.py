"""The facts of some visits as columns: the input of one merge into cells."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.arrays import Float, Int64
from storage.rollup.moments import machine_bit


@dataclass(frozen=True, slots=True)
class Visits:
    """Columns over visits."""

    sign: Int64
    """+1: added to the cells; -1: subtracted."""
    campaign: Int64
    stratum: Int64
    utilisation_class: Int64
    """-1…3."""
    hour: Int64
    machine: Int64

    def __len__(self) -> int:
        return len(self.sign)

    @property
    def machine_bit(self) -> Int64:
        """Bits of `moments.Sums.machines`; 0 for a visit that is subtracted."""
        return np.where(self.sign > 0, machine_bit(self.machine), 0)


@dataclass(frozen=True, slots=True)
class Profiles:
    """Columns over the profiles of visits."""

    visit: Int64
    """Index into `Visits`."""
    stacks: Int64
    """1 with stacks, 0 flat."""
    sample_type: Int64
    application: Int64
    samples: Int64
    period: Int64
    facts: Int64
    """Facts of each profile in `Batch.stack`."""

    def __len__(self) -> int:
        return len(self.visit)


@dataclass(frozen=True, slots=True)
class Watched:
    """Time that each visit observed, with or without samples: one row per visit, sample type and depth."""

    visit: Int64
    stacks: Int64
    sample_type: Int64
    seconds: Float


@dataclass(frozen=True, slots=True)
class Batch:
    """Visits with all their facts."""

    visits: Visits
    profiles: Profiles
    stack: Int64
    """Stack of each fact, profile by profile."""
    samples: Int64
    watched: Watched

    @property
    def profile(self) -> Int64:
        """The profile of each fact."""
        return np.repeat(np.arange(len(self.profiles)), self.profiles.facts)

    @property
    def units(self) -> Int64:
        """Units of each fact, always positive."""
        return self.samples * np.repeat(self.profiles.period, self.profiles.facts)


def numbered(*columns: npt.NDArray[np.integer]) -> tuple[Int64, Int64]:
    """Number the distinct rows of several columns from 0, in order: (a row of each number, number of each row)."""
    order = np.lexsort(columns[::-1])
    fresh = np.zeros(len(order), np.bool_)
    fresh[:1] = True
    for column in columns:
        ordered = column[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(fresh) - 1
    return order[fresh], number
