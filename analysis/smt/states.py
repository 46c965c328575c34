"""The three states of a core with two hardware threads: both busy, one busy, idle; shares of available time.

Two ways lead to them. The hardware counts unhalted cycles of each thread and of the core (DIGEST A2). Where nobody can read
counters, the utilisations of the two logical CPUs do, if the threads are busy independently of each other (DIGEST A3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Float
from analysis.errors import BadShape, Contradictory
from analysis.input_checks import enough, numbers, positives

SKEW = 0.01
"""Counters of a core are read one after another: they may disagree by this share of the available cycles."""


@dataclass(frozen=True, slots=True)
class States:
    """Shares of available time of some cores, each 0…1; they add up to 1. All (C,)."""

    overlap: Float
    alone: Float
    """One thread busy."""
    idle: Float

    @property
    def utilisation(self) -> Float:
        """What operating systems say: busy time of both threads over both threads' time; 0…1."""
        return self.overlap + self.alone / 2

    @property
    def thread_any(self) -> Float:
        """Share of time in which any thread was busy; 0…1 (DIGEST A6)."""
        return self.overlap + self.alone


def from_cycles(thread0: ArrayLike, thread1: ArrayLike, either: ArrayLike, available: ArrayLike) -> States:
    """States from unhalted cycles of each thread, of either (`thread_any`), and the cycles that were available; (C,).

    Raises NotANumber, InsufficientData, BadShape, and Contradictory where either < one of them, either > their sum or
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
        ("either thread was busy for longer than both added up", any_ > one + other + slack),
        ("a thread was busy for longer than there was", any_ > total + slack),
    ):
        if wrong.any():
            raise Contradictory(f"Of {int(wrong.sum())} of {len(total)} cores the counters say that {said}.")
    any_ = np.minimum(any_, total)
    overlap = np.clip(one + other - any_, 0.0, any_)
    return States(overlap / total, (any_ - overlap) / total, (total - any_) / total)


def from_sums(threads: ArrayLike, either: ArrayLike, available: ArrayLike, skew: float = SKEW) -> States:
    """Mean states over the cores of machines, from unhalted cycles added up: of all threads, and of cores with either busy; (V,).

    `available` has those of all cores. States are linear in cycles, and APU in states, so sums over cores lose nothing. Raises
    NotANumber, InsufficientData, BadShape, and Contradictory where either > threads, either < half of them or either > available by
    more than `skew` of the available cycles.
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
        ("cores were busy for longer than there was", any_ > total + slack),
    ):
        if wrong.any():
            raise Contradictory(f"The counters say that {said}.")
    any_ = np.minimum(any_, total)
    overlap = np.clip(both - any_, 0.0, any_)
    return States(overlap / total, (any_ - overlap) / total, (total - any_) / total)


def from_utilisation(u0: ArrayLike, u1: ArrayLike) -> States:
    """States from the utilisations 0…1 of the two logical CPUs of each core, busy independently of each other; (C,).

    Raises NotANumber, InsufficientData, BadShape.
    """
    one, other = (np.atleast_1d(numbers("utilisation", u, 0, 1)) for u in (u0, u1))
    _of_same_cores(one, other)
    overlap = one * other
    return States(overlap, one * (1 - other) + other * (1 - one), (1 - one) * (1 - other))


def joined(parts: Sequence[States]) -> States:
    """The states of all cores of several; at least one of them."""
    return States(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("overlap", "alone", "idle"))
    )


def largest_disagreement(hardware: States, system: States) -> float:
    """Largest difference of the two ways' overlap over the same cores, or machines: what assuming independence costs, 0…1."""
    if len(hardware.overlap) != len(system.overlap):
        raise BadShape("Both ways have to speak of the same cores.")
    enough("cores", len(hardware.overlap), 1)
    return float(np.abs(hardware.overlap - system.overlap).max())


def _of_same_cores(*arrays: Float) -> None:
    if len({array.shape for array in arrays}) > 1:
        raise BadShape("Cores need one reading of each kind.")
    enough("cores", len(arrays[0]), 1)
