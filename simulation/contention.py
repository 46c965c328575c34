"""Interference on one chip: pressure adds up, and slows each application by its sensitivity (DIGEST I1-I3).

A core-second of an application brings lines into the shared cache and moves bytes from and to memory, independent of
the number of instructions done. Let l be the lines per second of all programs on a chip (in thousands of millions), and
u the share of its memory's peak that their bytes take. The application's cycles per instruction are those without
pressure, times

    1 + s · (0.12 · l + g(u)),    g' = 0.3 up to a quarter of the peak, 0.6 up to three quarters, 1.2 beyond,

with s its sensitivity. On a machine of several chips each chip has an equal part of all work.
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
"""Shares of the peak at which the slope changes, as in DIGEST I3."""
_PER_BILLION_LINES: Final = 0.12
_SLOPES: Final = (0.3, 0.6, 1.2)
_NODES: Final = 16


@dataclass(frozen=True, slots=True)
class Pressure:
    """Pressure on one chip by all its programs."""

    lines: float
    """Lines brought into the shared cache, thousands of millions per second."""
    gigabytes: float
    """GB read from and written to memory per second."""


@lru_cache(maxsize=256)
def lines_per_miss(application: Application) -> float:
    """Lines brought into the cache per miss: prefetchers add some."""
    return 1.2 + float(uniform(word(application.name), "prefetch"))


@lru_cache(maxsize=256)
def bytes_per_line(application: Application) -> tuple[float, float]:
    """Bytes read from and written to memory per line brought in."""
    return float(LINE_BYTES), LINE_BYTES * (0.1 + 0.7 * float(uniform(word(application.name), "written")))


def sensitivity(application: Application) -> float:
    """Sensitivity to pressure: 0.5 for a program that never accesses memory, 2 for one that always does."""
    return 0.5 + 0.1 * application.misses


def slowdown(
    application: Application, lines: npt.ArrayLike, gigabytes: npt.ArrayLike, peak: npt.ArrayLike
) -> Floats:
    """Factor on cycles per instruction under a chip's pressure; lines and GB per second, peak in GB/s."""
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
    """Expectation of 1/`slower`(busy), each window weighted by its busy share; same shape as `utilisation`.

    `slower` receives the windows' busy shares (`busy_shares`) in an additional last axis. Pressure grows with them, so
    a mean of pressure is not sufficient.
    """
    busy, weight = busy_shares(utilisation, concentration)
    weight *= busy
    return np.asarray((weight / slower(busy)).sum(axis=-1) / weight.sum(axis=-1))


def busy_shares(utilisation: Floats, concentration: float) -> tuple[Floats, Floats]:
    """Busy shares of windows with these means, and the weight of each in an expectation; both (…, 16).

    A window's busy share is Beta(κ·u, κ·(1 − u)); nodes and weights are those of Gauss–Jacobi quadrature.
    """
    busy = np.empty((*utilisation.shape, _NODES))
    weight = np.empty_like(busy)
    for place in np.ndindex(utilisation.shape):
        # Rounded to a ten-thousandth, which is negligible: machines of similar load share their nodes.
        busy[place], weight[place] = _nodes(round(float(utilisation[place]), 4), concentration)
    return busy, weight


@lru_cache(maxsize=16384)
def _nodes(utilisation: float, concentration: float) -> tuple[Floats, Floats]:
    """Nodes and weights of an expectation over Beta(κ·u, κ·(1 − u)) (Golub and Welsch 1969, Jacobi polynomials)."""
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
