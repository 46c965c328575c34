"""The three states of a core with two hardware threads: both busy, one busy, idle; shares of available time.

There are two sources. The hardware counts unhalted cycles of each thread and of the core (DIGEST A2). Without access to
counters, the utilisations of the two logical CPUs suffice, if the threads are busy independently (DIGEST A3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Float
from analysis.errors import BadShape, Contradictory
from analysis.input_checks import enough, numbers, positives

SKEW = 0.01
"""A core's counters are read one after another, so they may disagree by this share of the available cycles."""


@dataclass(frozen=True, slots=True)
class States:
    """Shares of available time of C cores, each 0…1, adding up to 1. All (C,)."""

    overlap: Float
    alone: Float
    """One thread busy."""
    idle: Float

    @property
    def utilisation(self) -> Float:
        """Utilisation as operating systems define it: busy time of both threads over both threads' time; 0…1."""
        return self.overlap + self.alone / 2

    @property
    def thread_any(self) -> Float:
        """Share of time in which any thread was busy; 0…1 (DIGEST A6)."""
        return self.overlap + self.alone


def from_cycles(thread0: ArrayLike, thread1: ArrayLike, either: ArrayLike, available: ArrayLike) -> States:
    """States from unhalted cycles of each thread, of either (`thread_any`), and the available cycles; (C,).

    Raises NotANumber, InsufficientData, BadShape, and Contradictory if either < one of them, either > their sum or
    either > available by more than `SKEW` of the available cycles.
    """
    total = np.atleast_1d(positives("available cycles", available))
    one, other, any_ = (
        np.atleast_1d(numbers(what, cycles, 0))
        for what, cycles in (
            ("cycles of thread 0", thread0),
            ("cycles of thread 1", thread1),
            ("cycles of either thread", either),
        )
    )
    _of_same_cores(total, one, other, any_)
    slack = SKEW * total
    for said, wrong in (
        ("either thread was busy for less time than one of them", any_ < np.maximum(one, other) - slack),
        ("either thread was busy for longer than the sum of both", any_ > one + other + slack),
        ("a thread was busy for longer than the available time", any_ > total + slack),
    ):
        if wrong.any():
            raise Contradictory(f"By the counters of {int(wrong.sum())} of {len(total)} cores, {said}.")
    any_ = np.minimum(any_, total)
    overlap = np.clip(one + other - any_, 0.0, any_)
    return States(overlap / total, (any_ - overlap) / total, (total - any_) / total)


def from_sums(threads: ArrayLike, either: ArrayLike, available: ArrayLike, skew: float = SKEW) -> States:
    """Mean states over the cores of machines, from sums of unhalted cycles over all threads and over all cores; (V,).

    `either` sums cycles in which any thread of a core was busy, and `available` those of all cores. States are linear
    in cycles, and APU in states, so sums over cores lose nothing. Raises NotANumber, InsufficientData, BadShape, and
    Contradictory if either > threads, either < half of them or either > available by more than `skew` of the available
    cycles.
    """
    total = np.atleast_1d(positives("available cycles", available))
    both, any_ = (
        np.atleast_1d(numbers(what, cycles, 0))
        for what, cycles in (("cycles of threads", threads), ("cycles of either thread", either))
    )
    _of_same_cores(total, both, any_)
    slack = skew * total
    for said, wrong in (
        ("cores were busy for longer than their threads", any_ > both + slack),
        ("threads were busy for more than twice as long as their cores", both > 2 * (any_ + slack)),
        ("cores were busy for longer than the available time", any_ > total + slack),
    ):
        if wrong.any():
            raise Contradictory(f"By the counters, {said}.")
    any_ = np.minimum(any_, total)
    overlap = np.clip(both - any_, 0.0, any_)
    return States(overlap / total, (any_ - overlap) / total, (total - any_) / total)


def from_utilisation(u0: ArrayLike, u1: ArrayLike) -> States:
    """States from the utilisations 0…1 of the two logical CPUs of each core, assumed to be independent; (C,).

    Raises NotANumber, InsufficientData, BadShape.
    """
    one, other = (np.atleast_1d(numbers("utilisation", u, 0, 1)) for u in (u0, u1))
    _of_same_cores(one, other)
    overlap = one * other
    return States(overlap, one * (1 - other) + other * (1 - one), (1 - one) * (1 - other))


def joined(parts: Sequence[States]) -> States:
    """The concatenated states of several sets of cores; at least one set."""
    return States(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("overlap", "alone", "idle"))
    )


def largest_disagreement(hardware: States, system: States) -> float:
    """Largest overlap difference of the two sources over the same cores or machines, 0…1: the error of independence."""
    if len(hardware.overlap) != len(system.overlap):
        raise BadShape("Both sources must cover the same cores.")
    enough("cores", len(hardware.overlap), 1)
    return float(np.abs(hardware.overlap - system.overlap).max())


def _of_same_cores(*arrays: Float) -> None:
    if len({array.shape for array in arrays}) > 1:
        raise BadShape("Cores need one reading of each kind.")
    enough("cores", len(arrays[0]), 1)
