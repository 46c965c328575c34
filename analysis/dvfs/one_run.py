"""The model from the counters of one run at one frequency (DIGEST D1, D2).

    T(f) = I·r·t_off + I·(1 − r)·CPI_on/f        r = n/I
    CPI_on = (T0 − I·r·t_off) / (I·(1 − r)/f0)

with I instructions retired, n of them loads that missed the last cache, t_off the platform's mean memory latency.
A fleet's visits are added up the same way: what each did on the chip is (T − n·t_off)·f cycles, whatever its f was.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis import estimate, moments
from analysis.arrays import Float, Int
from analysis.dvfs.frequency_model import FrequencyModel
from analysis.dvfs.sensitivity import FleetSensitivity
from analysis.errors import BadShape, Contradictory
from analysis.evidence import enough, number, numbers, positive, positives
from analysis.measured import Measured
from analysis.weights import Weights


@dataclass(frozen=True, slots=True)
class OneRun:
    """What one run's counters say."""

    model: FrequencyModel
    miss_share: float
    """r: misses of the last cache for each instruction, 0…1."""
    cpi_on_chip: float
    """Cycles for each instruction that stays on the chip."""


def from_counters(
    instructions: float, misses: float, seconds: float, hertz: float, latency_s: float
) -> OneRun:
    """The model of a run of `seconds` at `hertz`; `latency_s` is t_off.

    Raises NotANumber, and Contradictory where there are more misses than instructions, or they alone would take longer than the
    run did: its misses overlap, and the serial model does not hold for it.
    """
    count = positive("instructions", instructions)
    missed = number("misses of the last cache", misses, 0)
    time, frequency = positive("seconds", seconds), positive("frequency in Hz", hertz)
    latency = positive("memory latency in s", latency_s)
    if missed >= count:
        raise Contradictory(
            f"{missed:g} of {count:g} instructions missed the last cache: one of the two was not counted."
        )
    off = missed * latency
    if off >= time:
        raise Contradictory(
            f"{missed:g} misses of {latency * 1e9:.0f} ns one after another take {off:.3g} s, the run took {time:.3g} s:"
            " they overlap, or the latency is not this platform's."
        )
    on = (time - off) * frequency
    return OneRun(FrequencyModel(on, off), missed / count, on / (count - missed))


def from_visits(
    weight: Float,
    group: Int,
    weights: Weights,
    *,
    seconds: ArrayLike,
    hertz: ArrayLike,
    misses: ArrayLike,
    latency_s: ArrayLike,
    base_hz: float,
) -> FleetSensitivity:
    """An application's dependence on frequency, visits as clusters; (V,) each.

    `seconds` ≥ 0: its CPU time in the visit; `hertz`: the mean frequency while it ran (cycles ÷ seconds); `latency_s`: of the
    visit's platform. Both time and misses may be estimates by samples: in a visit of few samples misses may take longer than
    the time, as the ratio is one of sums. Weights as in `moments.from_visits`. Raises TooLittle, NotANumber, BadShape, and
    Contradictory where the misses of all visits would have taken longer than all the time, or leave no cycles on the chip.
    """
    time, frequency, missed = (
        numbers("CPU seconds", seconds, 0),
        positives("frequency in Hz", hertz),
        numbers("misses of the last cache", misses, 0),
    )
    latency = np.broadcast_to(positives("memory latency in s", latency_s), time.shape)
    if not len(weight) == len(group) == len(time) == len(frequency) == len(missed):
        raise BadShape("Visits need a weight, a group, seconds, a frequency and misses each.")
    enough("visits with this application's counters", len(time), 2)
    enough("visits with CPU time of this application", int((time > 0).sum()), 1)
    base = positive("base frequency in Hz", base_hz)
    off = missed * latency
    if float(weight @ off) >= float(weight @ time):
        raise Contradictory(
            "Misses one after another would have taken longer than all the time: they overlap, or the latency is wrong."
        )
    on_chip = (time - off) * frequency / base
    if float(weight @ on_chip) <= 0:
        raise Contradictory(
            "Misses would have taken longer than the time of visits at high frequencies, so much that nothing is left on the chip:"
            " they overlap, or the latency is wrong."
        )
    at_base = on_chip + off
    seen = np.flatnonzero(off)
    found = estimate.shares(
        moments.from_visits(
            weight,
            group,
            weights,
            x=at_base,
            row=np.zeros(len(seen), np.int64),
            visit=seen,
            y=off[seen],
            rows=1,
        )
    )
    share = Measured(float(found.value[0]), float(found.lo[0]), float(found.hi[0]))
    return FleetSensitivity(share, base, len(time), bool(found.few[0]))
