"""Interference: 20 targets, each trained on 120 random four-way mixes, predicted in unseen mixes (DIGEST I6, I8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.errors import NotEstimable
from analysis.interference.target import Target, fit_target
from analysis.least_squares import fit
from benchmarks.models.shared_chip import CUTS, Chip, made

_PROGRAMS = 30
TARGETS = 20
_TRAINING = 120
_UNSEEN = 10
_MIX = 4
_PRESSURE_ERROR = 0.02
_RUN_ERROR = 0.005
"""Relative error of a run's time."""


@dataclass(frozen=True, slots=True)
class Found:
    """Absolute errors of PD in unseen mixes, in points 0…1."""

    model: np.ndarray
    naive: np.ndarray
    """Errors of the mean PD of the target's training mixes."""
    linear: np.ndarray
    """Errors of one plain regression on both pressures."""
    noise: np.ndarray
    """Errors of the true value itself: the errors of two runs."""
    refused: int
    """Unseen mixes for which a target's model makes no prediction."""
    held: float
    """Share of mixes whose PD was in the prediction's 95 % interval."""
    mean: float
    """Mean PD."""


def measure(seed: int, targets: int = TARGETS) -> Found:
    """Train and predict `targets` targets."""
    random = np.random.default_rng(seed)
    chip = made(random, _PROGRAMS)
    seen = chip.seen(random, _PRESSURE_ERROR)
    model, plain, linear, noise, inside, truth, refused = [], [], [], [], [], [], 0
    for target in random.permutation(_PROGRAMS)[:targets]:
        mixes = random_mixes(random, int(target), _TRAINING)
        pressure = seen.of_mixes(mixes)
        degradation = np.array([_run(chip, members, random) for members in mixes])
        trained: Target = fit_target(seen.of_mixes(np.array([[target]])), pressure, degradation, CUTS)
        line = fit(pressure.table, degradation)
        for members in random_mixes(random, int(target), _UNSEEN, besides=mixes):
            true = float(chip.degradation(members)[0])
            measured = _run(chip, members, random)
            total = seen.of_mixes(members[None, :])
            try:
                found = trained.predict(float(total.cache[0]), float(total.bandwidth[0]))
            except NotEstimable:
                refused += 1
                continue
            truth.append(true)
            model.append(abs(found.degradation.value - measured))
            plain.append(abs(found.baseline - measured))
            linear.append(abs(float(line.at(total.table)[0]) - measured))
            noise.append(abs(true - measured))
            inside.append(found.degradation.holds(measured))
    return Found(
        model=np.array(model),
        naive=np.array(plain),
        linear=np.array(linear),
        noise=np.array(noise),
        refused=refused,
        held=float(np.mean(inside)),
        mean=float(np.mean(truth)),
    )


def random_mixes(
    random: np.random.Generator, target: int, count: int, besides: np.ndarray | None = None
) -> np.ndarray:
    """Random mixes, the target first, none with the same programs as one of `besides`; (count, 4)."""
    others = np.delete(np.arange(_PROGRAMS), target)
    trained = {frozenset(mix) for mix in ([] if besides is None else besides.tolist())}
    found: list[list[int]] = []
    while len(found) < count:
        mix = [target, *random.choice(others, _MIX - 1, replace=False).tolist()]
        if frozenset(mix) not in trained:
            found.append(mix)
    return np.array(found)


def _run(chip: Chip, members: np.ndarray, random: np.random.Generator) -> float:
    """Measured PD of the first program of a mix: two runs, with the others and alone."""
    together, alone = random.normal(1, _RUN_ERROR, 2)
    return float((1 + chip.degradation(members)[0]) * together / alone - 1)
