"""Merges runs that counted different events into one table (DIGEST M1-M3).

A processor counts 4 to 8 events at a time, so each run of a program has a few of its events, second by second, and its
instructions per cycle. The runs are stacked into one block matrix: runs share an event's column if they counted it,
other entries are zero. 0 also means "not measured"; `counted` distinguishes the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.arrays import Bool, Float, Int
from analysis.errors import BadShape, Constant
from analysis.input_checks import enough, numbers, positives


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program, with some events counted throughout (one counter per event)."""

    events: tuple[str, ...]
    values: Float
    """Counts per interval; (T, events), ≥ 0."""
    ipc: Float
    """Instructions per cycle in the same intervals; (T,), > 0."""


@dataclass(frozen=True, slots=True)
class Fused:
    """N intervals of all runs × E events."""

    events: tuple[str, ...]
    """Sorted by name."""
    values: Float
    """(N, E); 0 where not measured."""
    counted: Bool
    """(N, E)."""
    ipc: Float
    """(N,)."""
    run: Int
    """Run number of each interval; (N,)."""

    def of(self, kept: Int) -> "Fused":
        """A subset of the events, by index."""
        names = tuple(self.events[place] for place in kept.tolist())
        return Fused(names, self.values[:, kept], self.counted[:, kept], self.ipc, self.run)


def fuse(runs: Sequence[Run]) -> Fused:
    """Merge all runs into one table (DIGEST M2).

    Raises InsufficientData without a run that has intervals and events, NotANumber, and BadShape if a run's columns do
    not match its events or an event is duplicated.
    """
    enough("runs", len(runs), 1)
    for run in runs:
        if run.values.shape != (len(run.ipc), len(run.events)) or len(set(run.events)) != len(run.events):
            raise BadShape("A run needs one column for each of its events and one row for each IPC.")
        numbers("counts of events", run.values, 0)
        positives("instructions per cycle", run.ipc)
    events = tuple(sorted({event for run in runs for event in run.events}))
    enough("events", len(events), 1)
    place = {event: number for number, event in enumerate(events)}
    lengths = [len(run.ipc) for run in runs]
    enough("intervals", sum(lengths), 1)
    values = np.zeros((sum(lengths), len(events)))
    counted = np.zeros(values.shape, np.bool_)
    first = 0
    for run, length in zip(runs, lengths, strict=True):
        columns = [place[event] for event in run.events]
        values[first : first + length, columns] = run.values
        counted[first : first + length, columns] = True
        first += length
    return Fused(
        events,
        values,
        counted,
        np.concatenate([run.ipc for run in runs]).astype(np.float64),
        np.repeat(np.arange(len(runs)), lengths),
    )


def normalised(fused: Fused) -> Fused:
    """Scale every event to 0…1 over the whole table; constant events are dropped (DIGEST M3).

    Raises Constant if no event is left, NotANumber.
    """
    numbers("counts of events", fused.values, 0)
    low, high = fused.values.min(axis=0), fused.values.max(axis=0)
    varying = np.flatnonzero(high > low)
    if not len(varying):
        raise Constant("No event varies, so a model cannot be trained with these counters.")
    kept = fused.of(varying)
    scaled = (kept.values - low[varying]) / (high - low)[varying]
    return Fused(kept.events, scaled, kept.counted, kept.ipc, kept.run)
