"""What programs on one chip do to each other: pressure adds up, and everyone slows down by a law of its own (DIGEST I1-I3).

A core-second of an application brings lines into the shared cache and moves bytes from and to memory, however many
instructions it gets done. With the lines per second l of all that runs on a chip (in thousands of millions) and the
share u of its memory's peak that their bytes take, an application's cycles per instruction are those without any
pressure, times

    1 + s · (0.12 · l + g(u)),    g' = 0.3 up to a quarter of the peak, 0.6 up to three quarters, 1.2 beyond,

s its sensitivity. On a machine of several chips each has an equal part of all work.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from simulation.catalogue import Application
from simulation.seeded_random import Floats, uniform, word

LINE_BYTES: Final = 64
CUTS: Final = (0.25, 0.75)
"""Of the peak; the pieces that DIGEST I3 names."""
_PER_BILLION_LINES: Final = 0.12
_SLOPES: Final = (0.3, 0.6, 1.2)
_NODES: Final = 16


@dataclass(frozen=True, slots=True)
class Pressure:
    """On one chip, by all that runs on it."""

    lines: float
    """Contributions into the shared cache, per second."""
    gigabytes: float
    """Read from memory and written to it, per second."""


@lru_cache(maxsize=256)
def lines_per_miss(application: Application) -> float:
    """Lines brought into the cache for each that was missed: prefetchers bring some more."""
    return 1.2 + float(uniform(word(application.name), "prefetch"))


@lru_cache(maxsize=256)
def bytes_per_line(application: Application) -> tuple[float, float]:
    """Read from memory and written to it for each line brought in."""
    return float(LINE_BYTES), LINE_BYTES * (0.1 + 0.7 * float(uniform(word(application.name), "written")))


def sensitivity(application: Application) -> float:
    """How much pressure hurts: 0.5 for one that never goes to memory, 2 for one that always does."""
    return 0.5 + 0.1 * application.misses


def slowdown(
    application: Application, lines: npt.ArrayLike, gigabytes: npt.ArrayLike, peak: npt.ArrayLike
) -> Floats:
    """How many times as many cycles an instruction takes under a chip's pressure; lines and GB per second, peak in GB/s."""
    used = np.asarray(gigabytes, np.float64) / np.asarray(peak, np.float64)
    low, high = CUTS
    bent = (
        _SLOPES[0] * used
        + (_SLOPES[1] - _SLOPES[0]) * np.maximum(used - low, 0.0)
        + (_SLOPES[2] - _SLOPES[1]) * np.maximum(used - high, 0.0)
    )
    billions = np.asarray(lines, np.float64) / 1e9
    return np.asarray(1.0 + sensitivity(application) * (_PER_BILLION_LINES * billions + bent))


def mean_speed(slower: Callable[[Floats], Floats], utilisation: Floats, concentration: float) -> Floats:
    """Expected Σ of 1/`slower`(busy), each window by its busy share, over the mean busy share; as `utilisation`.

    `slower` gets shares of windows in a last axis of its own (`busy_shares`), and pressure grows with them; so a mean of pressure is
    not enough.
    """
    busy, weight = busy_shares(utilisation, concentration)
    weight *= busy
    return np.asarray((weight / slower(busy)).sum(axis=-1) / weight.sum(axis=-1))


def busy_shares(utilisation: Floats, concentration: float) -> tuple[Floats, Floats]:
    """Busy shares of windows with these means, and how much of an expectation over them each is; (…, 16) both.

    A window's busy share is Beta(κ·u, κ·(1 − u)); the nodes and weights are those of Gauss and Jacobi's rule.
    """
    busy = np.empty((*utilisation.shape, _NODES))
    weight = np.empty_like(busy)
    for place in np.ndindex(utilisation.shape):
        # Of a ten-thousandth, which nobody can tell: machines of like load share their nodes.
        busy[place], weight[place] = _nodes(round(float(utilisation[place]), 4), concentration)
    return busy, weight


@lru_cache(maxsize=16384)
def _nodes(utilisation: float, concentration: float) -> tuple[Floats, Floats]:
    """Nodes and weights of an expectation over Beta(κ·u, κ·(1 − u)) (Golub and Welsch 1969, over Jacobi's polynomials)."""
    mean = min(max(utilisation, 1e-4), 1.0 - 1e-4)
    a, b = concentration * (1.0 - mean) - 1.0, concentration * mean - 1.0
    k = np.arange(1, _NODES, dtype=np.float64)
    both = 2.0 * k + a + b
    diagonal = np.empty(_NODES)
    diagonal[0] = (b - a) / (a + b + 2.0)
    diagonal[1:] = (b * b - a * a) / (both * (both + 2.0))
    beside = 4.0 * k * (k + a) * (k + b) * (k + a + b) / (both**2 * (both + 1.0) * (both - 1.0))
    nodes, vectors = np.linalg.eigh(
        np.diag(diagonal) + np.diag(np.sqrt(beside), 1) + np.diag(np.sqrt(beside), -1)
    )
    return (nodes + 1.0) / 2.0, vectors[0] ** 2
