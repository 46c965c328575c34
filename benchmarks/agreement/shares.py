"""Whether two samples of the same seconds differ by more than sampling error.

Both sides have n₁ and n₂ samples of one program, of which a function has shares p₁ and p₂. The shares agree if
|p₁ − p₂| ≤ z·√(p₁(1 − p₁)/n₁ + p₂(1 − p₂)/n₂), where z allows a probability of FALSE_ALARM that any of all comparisons
is outside by chance (Bonferroni: each gets an equal part of it). Samples are taken at regular intervals, not at random,
which only reduces their real error, unless the program runs in lockstep with the timer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Final, TypeAlias

from benchmarks.agreement.names import Function

TOP: Final = 10
FALSE_ALARM: Final = 0.01

Counted: TypeAlias = tuple[Counter[Function], int]
"""Samples by function, and the total for the shares."""


@dataclass(frozen=True, slots=True)
class Shares:
    """One side's profile of one program, in samples."""

    samples: int
    own: Counter[Function]
    """Samples with the function innermost."""
    whole: Counter[Function]
    """Samples with the function anywhere in the stack."""
    rooted: float
    """Share of the stacks that reach the thread's start."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One share on both sides."""

    program: str
    measure: str
    what: Function
    peer: float
    ours: float
    deviation: float
    """Difference in its standard errors; positive if the product has more."""


def compare(
    program: str,
    measure: str,
    peer: Counted,
    ours: Counted,
    functions: Iterable[Function],
) -> list[Comparison]:
    """Compare the shares of these functions."""
    (peer_counts, peer_samples), (our_counts, our_samples) = peer, ours
    found = []
    for function in functions:
        counted = peer_counts[function], our_counts[function]
        found.append(
            Comparison(
                program,
                measure,
                function,
                counted[0] / peer_samples,
                counted[1] / our_samples,
                deviation(counted[0], peer_samples, counted[1], our_samples),
            )
        )
    return found


def deviation(counted: int, samples: int, our_counted: int, our_samples: int) -> float:
    """Difference of two shares in standard errors."""
    p, q = counted / samples, our_counted / our_samples
    variance = p * (1 - p) / samples + q * (1 - q) / our_samples
    if not variance:  # both shares are 0 or 1: equal or opposite
        pooled = (counted + our_counted) / (samples + our_samples)
        variance = pooled * (1 - pooled) * (1 / samples + 1 / our_samples)
    return (q - p) / sqrt(variance) if variance else 0.0


def allowed(comparisons: int) -> float:
    """z: permitted deviation in standard errors for this number of comparisons."""
    return NormalDist().inv_cdf(1 - FALSE_ALARM / (2 * max(1, comparisons)))


def top(counts: Counter[Function]) -> list[Function]:
    """The functions with the most samples, ties in a fixed order."""
    return sorted((function for function in counts if counts[function]), key=lambda f: (-counts[f], f))[:TOP]


def overlap(one: Sequence[Function], other: Sequence[Function]) -> float:
    """Share of the shorter list that is in the other."""
    shorter = min(len(one), len(other))
    return len({*one} & {*other}) / shorter if shorter else 1.0


def spread(comparisons: Sequence[Comparison]) -> float:
    """Root mean square of the deviations: about 1 if only sampling error differs."""
    return sqrt(sum(c.deviation**2 for c in comparisons) / len(comparisons)) if comparisons else 0.0
