"""Outcomes of visits to simulated machines: most succeed, busy machines fail more often, and some are odd.

    vanished      the machine is unreachable for half an hour, independent of its load
    garbage       its message is inconsistent, independent of its load
    silent        it does not respond, independent of its load
    busy          it refuses, aborts while sampling, or hangs, more often with higher load

Only `busy` depends on the load. Each such visit reports the utilisation before it fails, as real gateways do, so the
estimator can correct the bias.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from simulation.fleet import Fleet
from simulation.seeded_random import Floats, Indexes, uniform
from storage.schema import Outcome

_AWAY_SLOTS = 6


class Fate(Enum):
    """Reaction of a simulated gateway to a plan."""

    ANSWERS = "answers"
    AWAY = "away"
    SILENT = "silent"
    WRONG_SUM = "wrong sum"
    WRONG_VISIT = "wrong visit"
    LONG_WINDOW = "long window"
    REFUSES = "refuses"
    BREAKS = "breaks"
    HANGS = "hangs"

    @property
    def outcome(self) -> Outcome:
        """The collector's name of the outcome."""
        return _OUTCOMES[self]


_OUTCOMES = {
    Fate.ANSWERS: Outcome.ANSWERED,
    Fate.AWAY: Outcome.UNREACHABLE,
    Fate.SILENT: Outcome.TIMEOUT,
    Fate.WRONG_SUM: Outcome.GARBAGE,
    Fate.WRONG_VISIT: Outcome.GARBAGE,
    Fate.LONG_WINDOW: Outcome.GARBAGE,
    Fate.REFUSES: Outcome.REFUSED,
    Fate.BREAKS: Outcome.FAILED,
    Fate.HANGS: Outcome.TIMEOUT,
}


@dataclass(frozen=True, slots=True)
class Failures:
    """Probabilities of failed visits; with 0 everywhere every visit succeeds."""

    away: float = 0.004
    """Share of time in which a machine is unreachable."""
    garbage: float = 0.003
    silent: float = 0.002
    busiest: float = 0.45
    """Share of visits that fail at full load; it grows with the square of the load above a fifth."""

    def when_busy(self, utilisation: Floats) -> Floats:
        """Probability that a visit fails because of the machine's load, by its utilisation."""
        above = np.clip((utilisation - 0.2) / 0.8, 0.0, 1.0)
        return self.busiest * above**2

    def answering(self, utilisation: Floats) -> Floats:
        """Probability that a visit succeeds, by the machine's utilisation."""
        return (1.0 - self.away) * (1.0 - self.garbage - self.silent) * (1.0 - self.when_busy(utilisation))


NEVER = Failures(0.0, 0.0, 0.0, 0.0)


def is_away(
    fleet: Fleet, failures: Failures, slot: int, machines: Indexes
) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Which machines are unreachable in a slot."""
    return np.asarray(uniform(fleet.seed, "away", machines, slot // _AWAY_SLOTS) < failures.away)


def fate(
    fleet: Fleet, failures: Failures, machine: int, visit_id: bytes, *, slot: int, utilisation: float
) -> Fate:
    """Fate of a visit; deterministic."""
    if is_away(fleet, failures, slot, np.array([machine]))[0]:
        return Fate.AWAY
    visit = int.from_bytes(visit_id[:8], "little") ^ int.from_bytes(visit_id[8:], "little")
    odd, busy, how = uniform(fleet.seed, "fate", machine, visit, np.arange(3)).tolist()
    if odd < failures.garbage:
        return (Fate.WRONG_SUM, Fate.WRONG_VISIT, Fate.LONG_WINDOW)[int(how * 3)]
    if odd < failures.garbage + failures.silent:
        return Fate.SILENT
    if busy < float(failures.when_busy(np.array(utilisation))):
        return Fate.REFUSES if how < 0.5 else Fate.BREAKS if how < 0.85 else Fate.HANGS
    return Fate.ANSWERS
