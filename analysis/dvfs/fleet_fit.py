"""Frequency model from machines at several frequencies: seconds per instruction = A/f + B (extends DIGEST D1).

Each visit has an application's instructions, cycles and CPU time: seconds per instruction is CPI(f)/f, and f is cycles
divided by time. An instruction takes A cycles on the chip and waits B seconds. The fit weights visits by their
instructions, so that it reproduces the total time: with one frequency it is the ratio of sums that CPI is.

Governors act per machine, and visits of one machine share its other properties. So the interval is the wider of two
jackknife intervals, over machines and over visits. If a frequency is known from one machine only, the interval is
unbounded.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Float, Int, sums
from analysis.dvfs.jackknife import Line, jackknife, steps_of
from analysis.dvfs.sensitivity import FleetSensitivity
from analysis.dvfs.terms import Terms
from analysis.errors import BadShape, Constant, Contradictory
from analysis.estimate import FEW
from analysis.input_checks import enough, number, numbers, positives, same_length
from analysis.measured import Measured

LEAST_RANGE = 1.1
"""Minimum ratio of highest to lowest frequency; in a smaller range, counting errors would look like an effect."""
_ROUNDING_OF_SHARES = 1e-9
_FREQUENCIES = (1e6, 1e11)
"""Plausible range in Hz; outside it a counter failed."""

LIMITS = (
    (
        "The fit assumes that machines at different frequencies do the same work per instruction; their "
        "releases and requests may differ."
    ),
    (
        "The fit corrects linearly for the load of a machine and for the busy CPUs of a socket, but not "
        "for the programs that keep them busy."
    ),
    (
        "The fit does not model the time that neighbours cost. Where all programs slow down together, "
        "they interfere less, and that counts as waiting."
    ),
    (
        "The model is a line in 1/f between and near the observed frequencies; it does not predict turbo "
        "frequencies above them."
    ),
)
"""Limitations of the fit, shown with every prediction."""


@dataclass(frozen=True, slots=True)
class Step:
    """Visits at nearly the same frequency."""

    hertz: float
    """Mean, weighted by CPU time."""
    visits: int
    machines: int
    seconds: float
    """Per instruction, as counted."""
    fitted: float
    held_out: float | None
    """Relative error of the prediction of this step by all others; None: fewer than two others."""
    naive: float | None
    """The same if all time were on the chip: a constant CPI."""


@dataclass(frozen=True, slots=True)
class FleetFit:
    """The fit with its uncertainty."""

    sensitivity: FleetSensitivity
    on_chip_cycles: Measured
    """A: cycles per instruction without waiting."""
    waiting_s: Measured
    """B: mean seconds that an instruction waits."""
    machines: int
    steps: tuple[Step, ...]
    """By frequency."""
    clipped: bool
    """A or B was negative within its uncertainty, and is set to 0."""
    load_correlation: float | None
    """Correlation of frequency and machine load, 0…1: near 1 they can hardly be separated. None: load is constant."""


def from_frequencies(
    weight: Float,
    machine: Int,
    *,
    seconds: ArrayLike,
    cycles: ArrayLike,
    instructions: ArrayLike,
    base_hz: float | None = None,
    load: Float | None = None,
) -> FleetFit:
    """Fit to visits; (V,) each, `seconds`, `cycles` and `instructions` of the same periods and > 0.

    `weight` is ≥ 0 and finite, and `machine` is any integer id. `base_hz` is the reference frequency of shares and
    slowdowns; None: the mean weighted by CPU time. `load`, (V,) or (V, m), is the load of the machine, such as its
    utilisation and busy CPUs per socket; a linear term models each. Raises InsufficientData below three visits,
    Constant if all frequencies are within a tenth of each other, NotANumber, BadShape, and Contradictory if A or B is
    negative beyond its uncertainty.
    """
    time, went, done = (
        positives(what, values)
        for what, values in (
            ("CPU seconds", seconds),
            ("cycles", cycles),
            ("instructions", instructions),
        )
    )
    weight = numbers("weights", weight, 0)
    if not len(weight) == len(machine) == len(time) == len(went) == len(done):
        raise BadShape("Visits need a weight, a machine, seconds, cycles and instructions each.")
    busy = None if load is None else numbers("load of machines", load[:, None] if load.ndim == 1 else load, 0)
    same_length("Load and time of visits", time, time if busy is None else busy)
    there = weight > 0
    weight, time, went, done = (each[there] for each in (weight, time, went, done))
    machine, busy = machine[there], None if busy is None else busy[there]
    enough("visits with cycles, instructions and CPU time of this application", len(time), 3)
    hertz = numbers("frequency in Hz, cycles over CPU time", went / time, *_FREQUENCIES)
    if float(hertz.max()) < LEAST_RANGE * float(hertz.min()):
        raise Constant(
            f"All visits ran between {hertz.min() / 1000000.0:,.0f} and "
            f"{hertz.max() / 1000000.0:,.0f} MHz, too close to estimate the effect of frequency."
        )
    line = Line.of(weight * done, hertz, numbers("seconds per instruction", time / done, 0), busy)
    step = steps_of(hertz)
    chosen = max(
        (jackknife(line, step, cluster) for cluster in (np.arange(len(time)), machine)),
        key=lambda each: each.width,
    )
    share = chosen.share
    # Twice the width: for applications that never wait, one in forty intervals is below 0 by chance.
    if 2 * share.hi - share.value < -_ROUNDING_OF_SHARES:
        raise Contradictory(
            "Instructions get faster by more than the frequency rises: the machines differ in more "
            "than their frequency."
        )
    if 2 * share.lo - share.value > 1 + _ROUNDING_OF_SHARES:
        raise Contradictory(
            "Instructions take longer at higher frequencies: the machines differ in more than their "
            "frequency."
        )
    value = min(max(share.value, 0.0), 1.0)
    held = Measured(value, min(max(share.lo, 0.0), value), max(min(share.hi, 1.0), value))
    base = (
        float(weight @ went / (weight @ time))
        if base_hz is None
        else number("base frequency in Hz", base_hz, *_FREQUENCIES)
    )
    return FleetFit(
        sensitivity=FleetSensitivity(
            _at_base(held, base / line.middle_hz), base, len(time), chosen.contributing < FEW
        ),
        on_chip_cycles=_part(chosen.terms, 0, 1 - value, line.unit_s * line.middle_hz),
        waiting_s=_part(chosen.terms, 1, value, line.unit_s),
        machines=len(np.unique(machine)),
        steps=_steps(line, step, machine, hertz, weight * time),
        clipped=value != share.value,
        load_correlation=_correlation(line),
    )


def _at_base(share: Measured, ratio: float) -> Measured:
    """Convert a share of the time at the middle frequency to a base frequency `ratio` times as high."""
    value, lo, hi = (each / (each + (1 - each) / ratio) for each in (share.value, share.lo, share.hi))
    return Measured(value, lo, hi)


def _part(terms: Terms, place: int, value: float, scale: float) -> Measured:
    """A coefficient in its own unit; `value` is the one after clipping at 0."""
    found = terms.of(np.eye(2)[place])
    return Measured(value * scale, min(max(found.lo, 0.0), value) * scale, max(found.hi, value) * scale)


def _steps(line: Line, step: Int, machine: Int, hertz: Float, time: Float) -> tuple[Step, ...]:
    count = int(step.max()) + 1
    each = line.sums(step, count)
    # The line's value at the mean of each step; the second column is 1.
    at, seen = each.squares[:, 1, :], each.right[:, 1]
    fitted = at @ each.whole().solved()[0] / at[:, 1]
    others = each.others()
    # A single step defines no line, however its frequencies scatter.
    model = (at * others.solved()).sum(axis=1) / seen - 1 if count > 2 else np.full(count, np.nan)
    flat = np.divide(
        others.right[:, 1], others.squares[:, 0, 1], out=np.full(count, np.nan), where=others.right[:, 1] > 0
    )
    naive = flat * at[:, 0] / seen - 1
    mean = sums(step, time * hertz, count) / sums(step, time, count)
    return tuple(
        Step(
            hertz=float(mean[n]),
            visits=int((step == n).sum()),
            machines=len(np.unique(machine[step == n])),
            seconds=float(seen[n] / at[n, 1]) * line.unit_s,
            fitted=float(fitted[n]) * line.unit_s,
            held_out=float(model[n]) if np.isfinite(model[n]) else None,
            naive=float(naive[n]) if np.isfinite(model[n]) else None,
        )
        for n in range(count)
    )


def _correlation(line: Line) -> float | None:
    """The multiple correlation of 1/f and the load columns."""
    if line.columns.shape[1] < 3:
        return None
    root = np.sqrt(line.weight)
    slow, load = root * (line.columns[:, 0] - 1), root[:, None] * line.columns[:, 2:]
    left = slow - load @ (np.linalg.pinv(load) @ slow)
    return float(np.sqrt(max(1 - float(left @ left) / float(slow @ slow), 0.0)))
