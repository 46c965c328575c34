"""What a plan will save when CPI is known with an error.

Two things make the saving that a plan promises uncertain. CPI has an interval: drawn again and again from it, the plan's saving
spreads. And the plan was chosen because it looks best by these measurements, errors included, so that it promises too much, as the
winner of an auction bids too much. How much too much is seen by planning again on every draw and looking how much of that
plan's promise holds by the measured CPI (Efron's optimism); the interval is moved down by it.
Source: Efron, Journal of the American Statistical Association 78 (1983), 316-331.
"""

from dataclasses import dataclass, replace

import numpy as np

from analysis.arrays import Float
from analysis.errors import BadShape
from analysis.evidence import enough, numbers
from analysis.measured import Measured
from analysis.placement.affinity import Fleet, Plan, assign, cost

LEAST_DRAWS = 40
"""Of which the outermost two bound a 95 % interval."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A plan's saving with what is known of CPI."""

    saving: Measured
    """Cycles, optimism taken off."""
    optimism: float
    """Cycles that the plan promises too much on average, because it was chosen by its promise."""
    draws: int


def promise(
    fleet: Fleet, plan: Plan, relative_error: Float, *, seed: int, draws: int = 200, plans: int = 20
) -> Promise:
    """The saving of a plan, CPI having these relative standard errors, (P, A), each ≥ 0.

    CPI is drawn log-normal around what was measured; `plans` of the `draws` are planned for again. The same seed gives the
    same answer. Raises TooLittle below 40 draws, NotANumber where the error of a pair with load, now or in the plan, is not known.
    """
    if relative_error.shape != fleet.cpi.shape:
        raise BadShape("Errors of CPI need one entry for each platform and application.")
    enough("draws", draws, LEAST_DRAWS)
    used = (fleet.load > 0) | (plan.load > 0)
    numbers("relative error of CPI", relative_error[used], 0)
    sigma = np.where(np.isfinite(relative_error), relative_error, 0.0)
    random = np.random.default_rng(seed)
    savings, excess = np.zeros(draws), []
    for draw in range(draws):
        cpi = fleet.cpi * np.exp(random.normal(0.0, 1.0, sigma.shape) * sigma - sigma**2 / 2)
        savings[draw] = cost(cpi, fleet.load) - cost(cpi, plan.load)
        if draw < plans:
            drawn = _plan_for(fleet, cpi)
            excess.append(drawn.saving - (fleet.cycles - cost(fleet.cpi, drawn.load)))
    optimism = max(float(np.mean(excess)), 0.0) if excess else 0.0
    lo, hi = np.quantile(savings, [0.025, 0.975]) - optimism
    value = plan.saving - optimism
    return Promise(Measured(value, min(float(lo), value), max(float(hi), value)), optimism, draws)


def _plan_for(fleet: Fleet, cpi: Float) -> Plan:
    """The plan had these CPIs been measured; platforms give what they did by them."""
    return assign(replace(fleet, cpi=cpi, capacity=_capacity(fleet, cpi)))


def _capacity(fleet: Fleet, cpi: Float) -> Float | None:
    """Capacity in cycles that leaves as much room beside the present load as there is by the measured CPI."""
    if fleet.capacity is None:
        return None
    return fleet.capacity + _present(cpi, fleet.load) - _present(fleet.cpi, fleet.load)


def _present(cpi: Float, load: Float) -> Float:
    return np.asarray(np.where(load > 0, cpi * load, 0.0).sum(axis=1), np.float64)
