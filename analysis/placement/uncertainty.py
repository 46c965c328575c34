"""What a plan will save when CPI is known with an error.

A plan is chosen because it looks best by measurements, errors included, so it promises too much, as the winner of an auction bids
too much. How much is seen in fleets whose CPI is known: it is drawn anew with the errors of the measurement and planned for with
the same caution, and what the plan promises is held against what it is worth. That depends on how much platforms differ, and the
measured CPI is no such fleet: it differs by the truth and by the errors, and a third of what equal platforms promise for
nothing was taken for true. So two fleets are tried. In one each application's CPIs are drawn together by the part of
their spread that errors explain: it corrects the value, and bounds it above. In the other platforms are all equal, where most is
promised for nothing: it bounds the value below, and the interval is wide rather than wrong.
Sources: Efron, Journal of the American Statistical Association 78 (1983), 316-331; DerSimonian and Laird, Controlled Clinical
Trials 7 (1986), 177-188 (the part that errors explain).
"""

from dataclasses import dataclass, replace

import numpy as np

from analysis import confidence
from analysis.arrays import Float
from analysis.errors import BadShape
from analysis.input_checks import enough, numbers
from analysis.measured import Measured
from analysis.placement.affinity import Fleet, Plan, assign, cost

LEAST_DRAWS = 40
"""Of which the outermost two bound a 95 % interval."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A plan's saving with what is known of CPI."""

    saving: Measured
    """Cycles, optimism taken off; the interval held the truth in 94 to 98 of 100 simulated fleets."""
    optimism: float
    """Cycles that the plan promises too much on average, because it was chosen by its promise."""
    draws: int


def promise(
    fleet: Fleet,
    plan: Plan,
    relative_error: Float,
    *,
    seed: int,
    cpi_lo: Float | None = None,
    cpi_hi: Float | None = None,
    draws: int = 100,
) -> Promise:
    """The saving of a plan by `assign`, CPI having these relative standard errors, (P, A), each ≥ 0.

    `cpi_lo` and `cpi_hi` are what a cautious plan was made with. Errors are log-normal; every draw is planned for twice. The same
    seed gives the same answer. Raises InsufficientData below 40 draws, NotANumber where the error of a pair with load, now or in
    the plan, is not known, BadShape.
    """
    if relative_error.shape != fleet.cpi.shape:
        raise BadShape("Errors of CPI need one entry for each platform and application.")
    enough("draws", draws, LEAST_DRAWS)
    used = (fleet.load > 0) | (plan.load > 0)
    numbers("relative error of CPI", relative_error[used], 0)
    sigma = np.where(np.isfinite(relative_error), relative_error, 0.0)
    ends = tuple(None if end is None else end / fleet.cpi for end in (cpi_lo, cpi_hi))
    random = np.random.default_rng(seed)
    errors = [np.exp(random.normal(0.0, 1.0, sigma.shape) * sigma - sigma**2 / 2) for _ in range(draws)]
    alike, equal = (
        np.array(
            [_excess(replace(fleet, cpi=cpi, capacity=_capacity(fleet, cpi)), by, ends) for by in errors]
        )
        for cpi in (_drawn_together(fleet.cpi, sigma), _drawn_together(fleet.cpi, sigma, differences=0.0))
    )
    optimism = max(float(alike.mean()), 0.0)
    value = plan.saving - optimism
    own = np.array([cost(fleet.cpi * by, fleet.load) - cost(fleet.cpi * by, plan.load) for by in errors])
    lo = min(plan.saving - _upper(equal), -_upper(-own) - optimism)
    hi = max(plan.saving + _upper(-alike), _upper(own) - optimism)
    return Promise(Measured(value, min(lo, value), max(hi, value)), optimism, draws)


def _upper(values: Float) -> float:
    """The upper end of the interval, outwards where it lies between two draws."""
    return float(np.quantile(values, confidence.tails()[1], method="higher"))


def _drawn_together(cpi: Float, sigma: Float, differences: float | None = None) -> Float:
    """CPI with each application's differences between platforms made as small as the truth's are likely to be.

    `differences`: their variance on logarithms; None: what errors do not explain of the variance of all.
    """
    known = np.isfinite(cpi)
    log = np.log(np.where(known, cpi, 1.0))
    platforms = known.sum(axis=0)
    mean = np.where(known, log, 0.0).sum(axis=0) / np.maximum(platforms, 1)
    free = np.where(known, 1 - 1 / np.maximum(platforms, 1), 0.0)
    apart = np.where(known, log - mean, 0.0)
    if differences is None:
        unexplained = float((apart**2).sum() - (free * sigma**2).sum())
        differences = max(unexplained / max(float(free.sum()), 1e-12), 0.0)
    spread = differences + sigma**2
    true = np.divide(differences, spread, out=np.ones(sigma.shape), where=(sigma > 0) & (spread > 0))
    return np.asarray(np.where(known, np.exp(mean + true * apart), np.nan))


def _excess(truth: Fleet, errors: Float, ends: tuple[Float | None, ...]) -> float:
    """What the plan made by a measurement with these errors promises beyond what it is worth."""
    cpi = truth.cpi * errors
    seen = replace(truth, cpi=cpi, capacity=_capacity(truth, cpi))
    lo, hi = (None if end is None else cpi * end for end in ends)
    drawn = assign(seen, cpi_lo=lo, cpi_hi=hi)
    return drawn.saving - (truth.cycles - cost(truth.cpi, drawn.load))


def _capacity(fleet: Fleet, cpi: Float) -> Float | None:
    """Capacity in cycles that leaves as much room beside the present load as there is by the measured CPI."""
    if fleet.capacity is None:
        return None
    return fleet.capacity + _present(cpi, fleet.load) - _present(fleet.cpi, fleet.load)


def _present(cpi: Float, load: Float) -> Float:
    return np.asarray(np.where(load > 0, cpi * load, 0.0).sum(axis=1), np.float64)
