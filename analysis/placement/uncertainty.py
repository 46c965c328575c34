"""Expected saving of a plan, given the error of CPI.

A plan is chosen because it looks best by measurements, errors included, so it promises too much (winner's curse). The
bias is determined in simulated fleets with known CPI: measurements with errors are drawn from it, planned with the same
caution, and the plan's promise is compared with its true value. The bias depends on how much platforms differ. The
measured CPI cannot serve as such a fleet, since its differences contain both truth and errors: a third of the empty
promises for equal platforms was taken for true. So two fleets are simulated. In one, each application's CPIs are drawn
together by the part of their spread that errors explain: it corrects the value and gives the upper bound. In the other,
all platforms are equal, which maximises empty promises: it gives the lower bound, so the interval is rather wide than
wrong.
Sources: Efron, Journal of the American Statistical Association 78 (1983), 316-331; DerSimonian and Laird, Controlled
Clinical Trials 7 (1986), 177-188 (the part that errors explain).
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
"""The outermost two bound a 95 % interval."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A plan's saving, given the uncertainty of CPI."""

    saving: Measured
    """Cycles, corrected for optimism; the interval contained the truth in 94 to 98 of 100 simulated fleets."""
    optimism: float
    """Mean excess of promised cycles, because the plan was chosen by its promise."""
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
    """The saving of a plan from `assign`, where CPI has these relative standard errors, (P, A), each ≥ 0.

    `cpi_lo` and `cpi_hi` are those of a cautious plan. Errors are log-normal; every draw is planned for twice.
    Deterministic per seed. Raises InsufficientData below 40 draws, NotANumber if the error of a pair with load, now or
    in the plan, is unknown, BadShape.
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
    """The upper end of a 95 % interval, rounded outwards between two draws."""
    return float(np.quantile(values, confidence.tails()[1], method="higher"))


def _drawn_together(cpi: Float, sigma: Float, differences: float | None = None) -> Float:
    """CPI with each application's differences between platforms shrunk to the likely size of the true ones.

    `differences` is their variance on logarithms; None: the part of the total variance that errors do not explain.
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
    """The excess of the promise of a plan, made from a measurement with these errors, over its true value."""
    cpi = truth.cpi * errors
    seen = replace(truth, cpi=cpi, capacity=_capacity(truth, cpi))
    lo, hi = (None if end is None else cpi * end for end in ends)
    drawn = assign(seen, cpi_lo=lo, cpi_hi=hi)
    return drawn.saving - (truth.cycles - cost(truth.cpi, drawn.load))


def _capacity(fleet: Fleet, cpi: Float) -> Float | None:
    """Capacity in cycles with the same headroom over the present load as with measured CPI."""
    if fleet.capacity is None:
        return None
    return fleet.capacity + _present(cpi, fleet.load) - _present(fleet.cpi, fleet.load)


def _present(cpi: Float, load: Float) -> Float:
    return np.asarray(np.where(load > 0, cpi * load, 0.0).sum(axis=1), np.float64)
