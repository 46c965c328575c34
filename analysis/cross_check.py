"""Compares core-seconds from cycle samples with the machines' own accounting (DIGEST G29).

    CoreSeconds = Cycles × SamplingRate × SamplingPeriod / CPUFrequency

with `Cycles` the number of cycle samples, `SamplingRate` the inverse of the share of machine-time that was sampled,
`SamplingPeriod` cycles per sample and the frequency in Hz. The two differ if samples are lost, if the frequency is not
the assumed one, or if cycles run that accounting does not include (interrupts, steal).
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from analysis.arrays import Float, Int
from analysis.input_checks import number, positive
from analysis.measured import Measured
from analysis.ratios import of_sums
from analysis.weights import Weights

TOLERANCE = 0.05
"""Tolerated discrepancy: frequencies vary by more during a visit."""


class Verdict(StrEnum):
    """The result of comparing the two accounts."""

    AGREE = "agree"
    """The interval of their ratio lies within the tolerance around 1."""
    DIFFER = "differ"
    """The interval lies outside the tolerance."""
    UNCLEAR = "unclear"
    """The interval crosses the tolerance's edge, or there is none: more visits are needed."""


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """The two accounts of a datacenter's CPU time."""

    sampled: float
    """Core-seconds from samples, estimated for the fleet."""
    monitored: float
    """Core-seconds from the machines' own accounting, for the same machines and time."""
    ratio: Measured
    """sampled ÷ monitored."""
    visits: int
    verdict: Verdict


def core_seconds(cycle_samples: float, cycles_per_sample: float, sampled_share: float, hertz: float) -> float:
    """Core-seconds represented by `cycle_samples`; `sampled_share` of machine-time was sampled, 0 < share ≤ 1.

    Raises NotANumber.
    """
    samples = number("cycle samples", cycle_samples, 0)
    period = positive("cycles per sample", cycles_per_sample)
    share = number(
        "share of machine-time sampled", positive("share of machine-time sampled", sampled_share), 0, 1
    )
    return samples * period / (share * positive("CPU frequency in Hz", hertz))


def cross_checks(
    weight: Float,
    group: Int,
    weights: Weights,
    *,
    datacenter: Int,
    sampled: Float,
    monitored: Float,
    datacenters: int,
    tolerance: float = TOLERANCE,
) -> list[CrossCheck]:
    """Compare the accounts of each datacenter 0…datacenters−1, from visits with both, in core-seconds; (V,).

    Raises NotANumber and BadShape. A datacenter without a visit has a ratio of NaN and is unclear.
    """
    found = of_sums(
        weight,
        group,
        weights,
        row=datacenter,
        visit=np.arange(len(weight)),
        y=sampled,
        x=monitored,
        rows=datacenters,
    )
    return [
        CrossCheck(
            sampled=float(found.y[place]),
            monitored=float(found.x[place]),
            ratio=(
                ratio := Measured(float(found.value[place]), float(found.lo[place]), float(found.hi[place]))
            ),
            visits=int(found.visits[place]),
            verdict=_verdict(ratio, tolerance),
        )
        for place in range(datacenters)
    ]


def _verdict(ratio: Measured, tolerance: float) -> Verdict:
    if ratio.lo > 1 + tolerance or ratio.hi < 1 - tolerance:
        return Verdict.DIFFER
    if ratio.lo >= 1 - tolerance and ratio.hi <= 1 + tolerance:
        return Verdict.AGREE
    return Verdict.UNCLEAR
