"""Event mining: runs of a program in which some events determine the IPC and the others do not (DIGEST M).

As on real machines, a run counts few of all events, one on each counter, and the program has phases that change the
determining events. The least possible error is that of an estimator with the law and the phases, but only the counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.event_mining.fusion import Run, fuse
from analysis.event_mining.mining import Mined, mine

_PLANTED = ("backend_stalls", "branch_misses", "llc_misses")
_EFFECTS = np.array([1.0, 0.8, 0.9])
_PHASES = 8
_PHASE_SECONDS = 8
_SPREAD = 0.8
"""Spread of an event's level between phases, on logarithms."""
_SHAPE = 40.0
"""Spread within a phase: a gamma distribution of this shape, 16 % of the level."""
_NOISE = 0.02
_DRAWS = 60
_SLOTS = 8
_RUNS = 120
_SECONDS = 55
"""Twice the paper's Pagerank (3 277 samples of 60 runs): an event is counted in one run of five."""


@dataclass(frozen=True, slots=True)
class Found:
    """Results of mining."""

    mined: Mined
    planted_found: float
    """Share of the planted events among the same number of top events in the ranking, 0…1."""
    floor: float
    """Relative error of the true law, averaged over the uncounted events."""
    events: int


def measure(irrelevant: int, seed: int) -> Found:
    """Mine runs in which `irrelevant` events are unrelated to the IPC."""
    random = np.random.default_rng(seed)
    names = [*_PLANTED, *(f"irrelevant_{number:03}" for number in range(irrelevant))]
    # Evenly spread, so that every event varies between phases.
    even = special.ndtri((np.arange(_PHASES) + 0.5) / _PHASES)
    levels = np.exp(_SPREAD * np.column_stack([random.permutation(even) for _ in names]))
    runs, floor = [], []
    for _ in range(_RUNS):
        seconds = int(random.integers(_SECONDS - 20, _SECONDS + 21))
        values = _counts(levels, seconds, random)
        planted = values[:, : len(_PLANTED)]
        ipc = _law(planted) * random.normal(1, _NOISE, seconds)
        counted = np.sort(random.choice(len(names), _SLOTS, replace=False))
        floor.append(np.abs(_best(planted, counted, levels, random) / ipc - 1))
        runs.append(Run(tuple(names[place] for place in counted), 1e6 * values[:, counted], ipc))
    mined = mine(fuse(runs), seed=seed)
    first = {event.name for event in mined.ranking[: len(_PLANTED)]}
    return Found(
        mined, len(first & set(_PLANTED)) / len(_PLANTED), float(np.concatenate(floor).mean()), len(names)
    )


def _counts(levels: np.ndarray, seconds: int, random: np.random.Generator) -> np.ndarray:
    """Event counts per second: the planted events follow the program's phases, the others are independent."""
    starts = random.random(seconds) < 1 / _PHASE_SECONDS
    phase = random.integers(0, _PHASES, int(starts.sum()) + 1)[np.cumsum(starts)]
    phases = random.integers(0, _PHASES, (seconds, levels.shape[1]))
    phases[:, : len(_PLANTED)] = phase[:, None]
    level = levels[phases, np.arange(levels.shape[1])]
    return np.asarray(level * random.gamma(_SHAPE, 1 / _SHAPE, level.shape))


def _law(planted: np.ndarray) -> np.ndarray:
    return np.asarray(3.0 / (1 + planted @ _EFFECTS))


def _best(
    planted: np.ndarray, counted: np.ndarray, levels: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Expected IPC given the law and all phases, but only the counted events.

    The counts give the probability of each phase; the result is the median over phases and uncounted events.
    """
    known = np.intersect1d(counted, np.arange(len(_PLANTED)))
    scale = levels[:, known] / _SHAPE
    values = planted[:, None, known]
    log = ((_SHAPE - 1) * np.log(values) - values / scale - _SHAPE * np.log(scale)).sum(axis=2)
    likely = np.exp(log - log.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    drawn = levels[:, None, : len(_PLANTED)] * random.gamma(
        _SHAPE, 1 / _SHAPE, (_PHASES, _DRAWS, len(_PLANTED))
    )
    found = np.zeros(len(planted))
    for row in range(len(planted)):
        joint = drawn.copy()
        joint[:, :, known] = planted[row, known]
        ipc = _law(joint).ravel()
        order = np.argsort(ipc)
        weight = np.cumsum(np.repeat(likely[row] / _DRAWS, _DRAWS)[order])
        found[row] = ipc[order[np.searchsorted(weight, 0.5)]]
    return found
