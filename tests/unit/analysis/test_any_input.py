"""GIVEN any numbers at all WHEN a model is asked THEN it answers with numbers or says why not, never with another error."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from analysis.audits.rollout import disappearance, rollout
from analysis.cross_check import core_seconds, cross_checks
from analysis.dvfs import one_run
from analysis.dvfs.fleet_fit import from_frequencies
from analysis.dvfs.frequency_model import FrequencyModel
from analysis.dvfs.memory import MemoryChange
from analysis.dvfs.sensitivity import FleetSensitivity
from analysis.dvfs.timed_runs import TimedRuns, from_runs
from analysis.dvfs.visit_sums import cells_of, sensitivity, sum_up
from analysis.errors import AnalysisError
from analysis.event_mining.fusion import Run, fuse, normalised
from analysis.interference import experiments
from analysis.interference.component_regression import fit_piece
from analysis.interference.pieces import of_peak
from analysis.interference.pressure import Pressures, degradation
from analysis.interference.target import fit_target
from analysis.measured import Measured
from analysis.placement.affinity import Fleet, assign
from analysis.ratios import of_sums, scaled
from analysis.smt import apu, capacity, machine, overlap, states
from analysis.smt.machine_choice import MachineType, choose
from analysis.stability import shifted_days
from analysis.weights import equal

ROUNDS = 400
ODD = [0, 1, -1, np.nan, np.inf, -np.inf, 1e300, 1e-300, 1e99, 0.5, 2, 1e12]


class Numbers:
    """Arrays of any numbers: odd ones, of any size, all alike, or harmless."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.n = int(self.random.integers(0, 14))

    def __call__(self, n: int | None = None) -> np.ndarray:
        n = self.n if n is None else n
        kind = self.random.integers(0, 8)
        if kind < 2:
            return self.random.choice(ODD, n)
        if kind < 5:
            return self.random.random(n) * 10.0 ** self.random.integers(-12, 12)
        return np.full(n, self.random.random()) if kind == 5 else self.random.random(n)

    def one(self) -> float:
        return float(self(1)[0])

    def table(self, columns: int) -> np.ndarray:
        return self(self.n * columns).reshape(self.n, columns)

    def indices(self, below: int) -> np.ndarray:
        return self.random.integers(0, below, self.n)

    def weighed(self) -> dict[str, Any]:
        return {
            "weight": np.ones(self.n),
            "group": np.zeros(self.n, np.int64),
            "weights": equal(np.array([float(self.n)])),
        }

    def measured(self) -> Measured:
        return Measured(*np.sort(self(3))[[1, 0, 2]].tolist())


MODELS: dict[str, Callable[[Numbers], object]] = {
    "overlap by throughput": lambda a: overlap.from_throughput(a(), a(3)),
    "overlap by times": lambda a: overlap.from_times(a.one(), a.one()),
    "overlap of a mix": lambda a: overlap.mixed(1 + a(), a()),
    "states by cycles": lambda a: states.from_cycles(a(), a(), a(), a()),
    "apu": lambda a: apu.apu(states.from_utilisation(a(), a()), a.one()),
    "simplified apu": lambda a: apu.simplified(a(), a.one()),
    "machine": lambda a: machine.of_cpus(a.indices(6), a(), 1 + a.one()),
    "capacity": lambda a: capacity.forecast(a(), a()),
    "machine types": lambda a: choose(
        MachineType(a.one(), a.measured(), a.measured()), MachineType(a.one(), a.measured(), a.measured())
    ),
    "one run": lambda a: one_run.from_counters(*a(5).tolist()),
    "visits at frequencies": lambda a: _at_frequencies(a).slowdown(1e9),
    "times": lambda a: foretold(from_runs(a(), a())),
    "times of both": lambda a: foretold(from_runs(a(), a(), a())),
    "fleet at frequencies": lambda a: from_frequencies(
        a(), a.indices(4), seconds=a(), cycles=1e9 * np.minimum(a(), 1e90), instructions=a(), load=a.table(2)
    ).sensitivity.lowest_frequency(0.9),
    "another memory": lambda a: MemoryChange(*a(3).tolist()).waiting,
    "frequency model": lambda a: FrequencyModel(a.one(), a.one()).lowest_frequency(a.one(), a.one()),
    "piece": lambda a: fit_piece(a.table(2), a()),
    "target": lambda a: fit_target(Pressures(a(1), a(1)), Pressures(a(), a()), a(), of_peak(a.one())).predict(
        a.one(), a.one()
    ),
    "experiments": lambda a: experiments.training(
        [
            *(
                experiments.Run(name, (), experiments.Metric.CPI, a.one(), a.one(), a.one(), 1.0)
                for name in ("web", "feed")
            ),
            *(experiments.Run("web", ("feed",), experiments.Metric.CPI, float(value)) for value in a()),
        ],
        "web",
        a.one(),
    ),
    "degradation": lambda a: degradation(a(), a()),
    "roll-out": lambda a: rollout(np.sort(a()), *np.sort(a.table(3), axis=1).T[[1, 0, 2]]),
    "disappearance": lambda a: disappearance(np.arange(a.n), *np.sort(a.table(3), axis=1).T[[1, 0, 2]]),
    "ratios": lambda a: of_sums(**a.weighed(), row=a.indices(3), visit=np.arange(a.n), y=a(), x=a(), rows=3),
    "scaled": lambda a: scaled(a(), a(), a()),
    "cross-check": lambda a: cross_checks(
        **a.weighed(), datacenter=a.indices(2), sampled=a(), monitored=a(), datacenters=2
    ),
    "core-seconds": lambda a: core_seconds(*a(4).tolist()),
    "affinity": lambda a: assign(Fleet(a.table(3), a.table(3))),
    "fusion": lambda a: normalised(
        fuse([Run(("a", "b"), a.table(2), a()), Run(("b", "c"), a.table(2), a())])
    ),
    "days": lambda a: shifted_days([a.measured() for _ in range(a.n)]),
}


def _at_frequencies(a: Numbers) -> FleetSensitivity:
    weighed, base = a.weighed(), a.one()
    cells = cells_of(weighed["weight"], weighed["group"])
    found = sum_up(
        cells, visit=np.arange(a.n), application=np.zeros(a.n, np.int64), seconds=a(), hertz=a(), misses=a(),
        latency_s=a.one(), base_hz=base,
    )  # fmt: skip
    return sensitivity(found, cells, weighed["weights"], base)


def foretold(runs: TimedRuns) -> object:
    """Everything that follows from times."""
    return (
        *(runs.time(1e9), runs.slowdown(1e9, 2e9), runs.off_chip_share(1e9)),
        *(runs.on_chip_cycles, runs.fixed_s, runs.memory_cycles, runs.lowest_frequency(0.9, 2e9)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_it_answers_or_says_why_not(name: str) -> None:
    said = [outcome(MODELS[name], seed) for seed in range(ROUNDS)]
    assert all(why is None or why.endswith(".") for why in said)
    # Among the harmless inputs are some that a model can answer; else this would test nothing.
    assert None in said


def outcome(model: Callable[[Numbers], object], seed: int) -> str | None:
    """Why it does not answer; None where it does."""
    try:
        model(Numbers(seed))
    except AnalysisError as because:
        return str(because)
    return None
