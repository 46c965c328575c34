"""Core-seconds from cycle samples against what the machines' own accounting says (DIGEST G29).

    CoreSeconds = Cycles × SamplingRate × SamplingPeriod / CPUFrequency

with `Cycles` the cycle samples collected, `SamplingRate` the inverse of the share of machine-time that was sampled,
`SamplingPeriod` cycles per sample and the frequency in Hz. The two disagree when samples are lost, when the frequency is
not the one that was assumed, or when cycles run that accounting does not see (interrupts, steal).
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
"""A discrepancy that nobody needs to look at: frequencies vary by more during a visit."""


class Verdict(StrEnum):
    """What the two accounts say about each other."""

    AGREE = "agree"
    """The interval of their ratio lies within the tolerance around 1."""
    DIFFER = "differ"
    """It lies outside."""
    UNCLEAR = "unclear"
    """It reaches over the edge, or there is none: more visits are needed."""


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """One datacenter's two accounts of its CPU time."""

    sampled: float
    """Core-seconds from samples, estimated for the fleet."""
    monitored: float
    """Core-seconds that the machines' own accounting says, for the same machines and time."""
    ratio: Measured
    """sampled ÷ monitored."""
    visits: int
    verdict: Verdict


def core_seconds(cycle_samples: float, cycles_per_sample: float, sampled_share: float, hertz: float) -> float:
    """Core-seconds that `cycle_samples` stand for; `sampled_share` of machine-time was sampled, 0 < share ≤ 1.

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
    """The two accounts of each datacenter 0…datacenters−1, from visits that have both, core-seconds each; (V,).

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
