"""Draws the machines of a round at random within strata; inclusion probabilities are known exactly.

With N machines in all, N_h in stratum h, and `expected_visits` visits a round (any number, also below one),
stratum h expects e_h = expected_visits · N_h / N draws, at most N_h. Systematic rounding makes them
integers: lay the e_h end to end in random order, shift the whole by one uniform u, and count the
integers in each piece,

    n_h = ⌊c_h + u⌋ − ⌊c_{h−1} + u⌋,   c_h = e_1 + … + e_h,   u uniform on [0, 1)

so that E[n_h] = e_h, n_h is e_h rounded up or down, and the total is `expected_visits` rounded up or down.
The random order keeps strata from excluding the same neighbours round after round. Then n_h machines
are drawn without replacement and with equal probability: a machine's inclusion probability is e_h / N_h.
Sources: DIGEST G2; Särndal, Swensson, Wretman, Model Assisted Survey Sampling, §3.6 and §3.7.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Choice:
    """One drawn machine, and the inputs of its weight."""

    machine_id: int
    stratum_id: int
    population: int
    """N_h: machines in the stratum at the draw."""
    drawn: int
    """n_h: machines drawn from the stratum in this round, 1 or more."""
    probability: float
    """E[n_h] / N_h, above 0 and at most 1."""


def draw(
    strata: Mapping[int, Sequence[int]], expected_visits: float, random: np.random.Generator
) -> list[Choice]:
    """Machines to visit in one round, in random order.

    `strata` maps each stratum's id to the ids of its machines. `expected_visits` is the expected number of
    visits over all strata; a number above that of all machines draws all of them. Raises ValueError if it is
    negative or not finite.
    """
    filled = {stratum: machines for stratum, machines in strata.items() if machines}
    sizes = np.array([len(machines) for machines in filled.values()], dtype=np.int64)
    expected = expectations(sizes, expected_visits)
    counts = round_systematically(expected, random)
    choices = [
        Choice(
            machine_id=machines[index],
            stratum_id=stratum,
            population=len(machines),
            drawn=int(count),
            probability=float(expectation / len(machines)),
        )
        for (stratum, machines), count, expectation in zip(filled.items(), counts, expected, strict=True)
        for index in random.choice(len(machines), size=count, replace=False)
    ]
    return [choices[index] for index in random.permutation(len(choices))]


def expectations(sizes: npt.NDArray[np.int64], expected_visits: float) -> npt.NDArray[np.float64]:
    """E[n_h]: `expected_visits` divided among strata in proportion to `sizes`, none above its size."""
    if not isfinite(expected_visits) or expected_visits < 0:
        raise ValueError(f"cannot draw {expected_visits} machines")
    total = int(sizes.sum())
    if total == 0:
        return np.zeros(len(sizes))
    return min(expected_visits, float(total)) * sizes / total


def round_systematically(
    expected: npt.NDArray[np.float64], random: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Integers with the expectations `expected`, each of them and their sum rounded up or down."""
    order = random.permutation(len(expected))
    reached = np.floor(np.cumsum(expected[order]) + random.random())
    counts = np.empty(len(expected), dtype=np.int64)
    counts[order] = np.diff(reached, prepend=0.0)
    # The floating-point sum may pass an integer that the exact sum only reaches.
    return np.minimum(counts, np.ceil(expected).astype(np.int64))
