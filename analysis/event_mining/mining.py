"""Finds the most accurate model of a program's IPC by eliminating irrelevant events (DIGEST M4-M6).

Starting from all events, the ten least important are dropped and the trees grown again, until few are left; the set
with the smallest error is kept. Whole runs are held out: the pattern of zero events identifies a row's run, so trees
trained on another part of the same run knew its mean IPC, and had an error of 6 % where new runs showed 30 %. A fifth
of the runs selects the set. Another fifth, not used for selection, gives the reported error, since the minimum of
twenty errors is biased. The error of always predicting the mean is reported for comparison.
"""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Float, Int
from analysis.event_mining.boosted_trees import LEAST, grow, relative_error
from analysis.event_mining.fusion import Fused, normalised
from analysis.input_checks import enough, varied

DROPPED = 10
"""Events dropped at once (DIGEST M6)."""
_PARTS = 5
"""Parts of the runs: three to train, one to select, one to judge."""


@dataclass(frozen=True, slots=True)
class Step:
    """One model of the elimination."""

    events: int
    error: float
    """Relative error on the selecting part."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """An event of the kept set."""

    name: str
    importance: float
    """0…1; the importances of the set add up to 1."""
    counted: float
    """Share of the intervals in which it was counted: an event of few runs can hardly be important."""


@dataclass(frozen=True, slots=True)
class Mined:
    """The most accurate model of one program, or of all together."""

    steps: tuple[Step, ...]
    """The error curve, from all events to few."""
    ranking: tuple[Ranked, ...]
    """Events of the kept set, most important first."""
    error: float
    """Relative error on runs used neither for training nor for selection: the expected error on a new run."""
    all_events_error: float
    """The same for the model with all events."""
    baseline_error: float
    """The same for always predicting the mean IPC."""
    intervals: int
    runs: int


def mine(fused: Fused, *, seed: int, dropped: int = DROPPED) -> Mined:
    """The most accurate model; deterministic per seed.

    Raises InsufficientData below 5 runs, or if the training runs have fewer than 50 intervals, Constant if IPC or all
    events are constant, NotANumber.
    """
    table = normalised(fused)
    varied("instructions per cycle", table.ipc)
    enough("runs", len(np.unique(table.run)), _PARTS)
    part = parts(table.run, seed)
    learn, choose, judge = part >= 2, part == 1, part == 0
    enough("intervals of training runs", int(learn.sum()), LEAST)
    kept: Int = np.arange(len(table.events))
    steps: list[Step] = []
    sets: list[Int] = []
    while True:
        trees = grow(table.values[learn][:, kept], table.ipc[learn], seed)
        error = relative_error(table.ipc[choose], trees.predict(table.values[choose][:, kept]))
        steps.append(Step(len(kept), error))
        sets.append(kept)
        if len(kept) <= dropped:
            break
        worst_first = np.argsort(trees.importance, kind="stable")
        kept = np.sort(kept[worst_first[dropped:]])
    best = sets[int(np.argmin([step.error for step in steps]))]
    importance, error = _judged(table, best, judge, seed)
    order = np.argsort(-importance, kind="stable")
    counted = table.counted[:, best].mean(axis=0)
    return Mined(
        steps=tuple(steps),
        ranking=tuple(
            Ranked(table.events[int(best[place])], float(importance[place]), float(counted[place]))
            for place in order
        ),
        error=error,
        all_events_error=error if len(best) == len(sets[0]) else _judged(table, sets[0], judge, seed)[1],
        baseline_error=relative_error(table.ipc[judge], np.full(int(judge.sum()), table.ipc[~judge].mean())),
        intervals=len(part),
        runs=len(np.unique(table.run)),
    )


def parts(run: Int, seed: int) -> Int:
    """A number 0…4 for each interval, equal within a run; the numbers of runs differ by at most one."""
    random = np.random.default_rng(seed)
    numbers, place = np.unique(run, return_inverse=True)
    return np.asarray(random.permutation(np.arange(len(numbers)) % _PARTS)[place], np.int64)


def _judged(
    table: Fused, kept: Int, judge: "np.ndarray[tuple[int], np.dtype[np.bool_]]", seed: int
) -> tuple[Float, float]:
    """Importance and error of a model trained on everything except the judging part."""
    trees = grow(table.values[~judge][:, kept], table.ipc[~judge], seed)
    return trees.importance, relative_error(table.ipc[judge], trees.predict(table.values[judge][:, kept]))
