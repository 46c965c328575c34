"""The most accurate model of a program's IPC, found by leaving out what does not matter (DIGEST M4-M6).

Starting from all events, the ten least important are dropped and the trees grown again, until few are left; the set with
the least error is kept. What is held out are whole runs: which events are zero tells which run a row is of, so trees that
had seen another part of the same run knew its mean IPC, and erred by 6 % where new runs showed 30 %. A fifth of
the runs chooses the set; another, which nothing was chosen by, says what the error is: the least of twenty
errors is too small to be quoted. Beside it stands the error of always predicting the mean.
"""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Float, Int
from analysis.event_mining.boosted_trees import LEAST, grow, relative_error
from analysis.event_mining.fusion import Fused, normalised
from analysis.input_checks import enough, varied

DROPPED = 10
"""Events that leave at once (DIGEST M6)."""
_PARTS = 5
"""Of the runs: three to learn from, one to choose by, one to judge by."""


@dataclass(frozen=True, slots=True)
class Step:
    """One model on the way."""

    events: int
    error: float
    """Relative error on the part that chooses."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """An event of the kept set."""

    name: str
    importance: float
    """0…1; all of the set add up to 1."""
    counted: float
    """Share of the intervals in which it was counted: an event that few runs had can hardly be important."""


@dataclass(frozen=True, slots=True)
class Mined:
    """The most accurate model of one program, or of all together."""

    steps: tuple[Step, ...]
    """The error curve, from all events to few."""
    ranking: tuple[Ranked, ...]
    """Events of the kept set, most important first."""
    error: float
    """Relative error on runs that nothing was learned from and nothing chosen by: what a new run will show."""
    all_events_error: float
    """The same for the model with all events."""
    baseline_error: float
    """The same for always predicting the mean IPC."""
    intervals: int
    runs: int


def mine(fused: Fused, *, seed: int, dropped: int = DROPPED) -> Mined:
    """The most accurate model; the same seed gives the same.

    Raises InsufficientData below 5 runs, or where those learned from have fewer than 50 intervals, Constant where IPC or all events never
    vary, NotANumber.
    """
    table = normalised(fused)
    varied("instructions per cycle", table.ipc)
    enough("runs", len(np.unique(table.run)), _PARTS)
    part = parts(table.run, seed)
    learn, choose, judge = part >= 2, part == 1, part == 0
    enough("intervals of the runs to learn from", int(learn.sum()), LEAST)
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
    """A number 0…4 for each interval, one for all intervals of a run; as many runs of each, to one."""
    random = np.random.default_rng(seed)
    numbers, place = np.unique(run, return_inverse=True)
    return np.asarray(random.permutation(np.arange(len(numbers)) % _PARTS)[place], np.int64)


def _judged(
    table: Fused, kept: Int, judge: "np.ndarray[tuple[int], np.dtype[np.bool_]]", seed: int
) -> tuple[Float, float]:
    """Importance and error of a model that learned from all but the judging part."""
    trees = grow(table.values[~judge][:, kept], table.ipc[~judge], seed)
    return trees.importance, relative_error(table.ipc[judge], trees.predict(table.values[judge][:, kept]))
