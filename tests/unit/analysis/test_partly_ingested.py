"""GIVEN visits of which the newest wait WHEN they are weighed step by step THEN every step has its truth as expected value."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import estimate, moments
from analysis.arrays import Bool, Float, Int
from analysis.partly_ingested import Drawn, Ingested, PartlyIngested, weigh_pieces
from analysis.weights import CLASSES, Frame, weigh

HOURS, STEP_S, STEPS = 10, 1800, 20
MACHINES = np.array([300.0, 100.0, 40.0])
LOAD = np.array([10.0, 30.0, 4.0])
"""Mean cores busy of a machine of each stratum."""


def daily(moment: Float) -> Float:
    return 1 + 0.5 * np.sin(2 * np.pi * (moment / 3600 - 4) / 24)


TRUE = np.array(
    [
        STEP_S * (MACHINES * LOAD).sum() * daily(np.linspace(step, step + 1, 101) * STEP_S).mean()
        for step in range(STEPS)
    ]
)


@dataclass
class Past:
    """Visits of a day until now."""

    stratum: Int
    klass: Int
    step: Int
    waits: Bool
    failed: Bool
    x: Float
    """Core-seconds seen, were it to ingest."""
    y: Float
    """A tenth of them in the mean."""

    @property
    def ingested(self) -> Int:
        return np.flatnonzero(~self.failed & ~self.waits)

    @property
    def frame(self) -> Frame:
        drawn, visits = np.zeros((2, 3, CLASSES))
        np.add.at(drawn, (self.stratum, self.klass), 1)
        np.add.at(visits, (self.stratum[self.ingested], self.klass[self.ingested]), 1)
        return Frame(
            stratum=np.arange(3),
            day=np.zeros(3, np.int64),
            population=MACHINES,
            covered_s=np.full(3, HOURS * 3600.0),
            drawn=drawn,
            visits=visits,
            watched_s=5 * visits,
        )

    def weighed(self) -> PartlyIngested:
        there = self.ingested
        return weigh_pieces(
            self.frame,
            Drawn(self.stratum, self.klass, self.step, self.waits),
            Ingested(self.stratum[there], self.klass[there], self.step[there], np.full(len(there), 5.0)),
            {(0, step): float(STEP_S) for step in range(STEPS)},
        )


def past(seed: int, visits: int, *, lag_s: Float, failing: float = 0.0, waiting: bool = True) -> Past:
    rng = np.random.default_rng(seed)
    moment = rng.uniform(0, HOURS * 3600, visits)
    stratum = rng.choice(3, size=visits, p=MACHINES / MACHINES.sum())
    load = LOAD[stratum] * daily(moment) * rng.gamma(4, 0.25, visits)
    klass = 1 + np.minimum((load / 60 * 4).astype(np.int64), 3)
    chance = (HOURS * 3600 - moment - 300 - lag_s[stratum]) / (7200 - lag_s[stratum])
    waits = (rng.random(visits) > np.clip(chance, 0, 1)) & waiting
    return Past(
        stratum=stratum,
        klass=np.where(waits & (rng.random(visits) < 0.1), 0, klass),  # of a visit under way it is not known
        step=(moment // STEP_S).astype(np.int64),
        waits=waits,
        failed=rng.random(visits) < failing,
        x=5 * load,
        y=5 * load * rng.beta(2, 18, visits),
    )


def points(found: Past) -> tuple[Float, Float, Float]:
    """Total with its interval by step; NaN where nothing is said."""
    weighed, there = found.weighed(), found.ingested
    result = np.full((3, STEPS), np.nan)
    for step in range(STEPS):
        if step in weighed.without_estimate:
            continue
        group, weights = weighed.group, weighed.weights
        if (varying := weighed.varying.get(step)) is not None:
            group = group.copy()
            group[varying.visits] = varying.group
            weights = varying.weights
        here = np.flatnonzero((found.step[there] == step) & (group >= 0))
        made = moments.from_visits(
            weighed.weight[here], group[here], weights, x=found.x[there][here], row=np.zeros(len(here), np.int64),
            visit=np.arange(len(here)), y=found.x[there][here], rows=1,
        )  # fmt: skip
        total = estimate.totals(made)
        result[:, step] = total.value[0], total.lo[0], total.hi[0]
    return result[0], result[1], result[2]


@pytest.mark.slow
@pytest.mark.parametrize("lag_s", [[0, 0, 0], [0, 3000, 0]], ids=["alike", "one stratum later"])
@pytest.mark.parametrize("failing", [0.0, 0.1])
def test_no_step_comes_out_too_low_or_too_high(lag_s: list[float], failing: float) -> None:
    made = [points(past(seed, 1200, lag_s=np.array(lag_s), failing=failing)) for seed in range(200)]
    value, lo, hi = (np.array(column) for column in zip(*made, strict=True))
    said = (~np.isnan(value)).sum(axis=0)
    judged = said > 100
    assert judged[:17].all()
    for step in np.flatnonzero(judged):
        here = value[~np.isnan(value[:, step]), step]
        assert abs(here.mean() - TRUE[step]) < 3.5 * here.std() / np.sqrt(len(here)), step
    covers = ((lo <= TRUE) & (hi >= TRUE))[:, judged].sum() / said[judged].sum()
    assert 0.93 <= covers <= 0.975


def test_weights_of_the_day_are_what_it_cures() -> None:
    """The newest steps by them are less than half of the truth."""
    sums = np.zeros(STEPS)
    for seed in range(50):
        found = past(seed, 1200, lag_s=np.zeros(3))
        there = found.ingested
        weight = weigh(found.frame).weight[found.stratum[there], found.klass[there]]
        sums += np.bincount(found.step[there], weights=weight * found.x[there], minlength=STEPS) / 50
    assert (sums[18:] < TRUE[18:] / 2).all()
    assert (sums[:10] > 1.05 * TRUE[:10]).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(10, 300))
def test_where_nothing_waits_weights_are_those_of_the_day(seed: int, visits: int) -> None:
    found = past(seed, visits, lag_s=np.zeros(3), failing=0.2, waiting=False)
    there, weighed, plain = found.ingested, found.weighed(), weigh(found.frame)
    assert weighed.weight == pytest.approx(plain.weight[found.stratum[there], found.klass[there]])
    assert weighed.group.tolist() == plain.group[found.stratum[there], found.klass[there]].tolist()
    assert (weighed.without_estimate, weighed.varying) == (frozenset(), {})


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 300))
def test_what_is_said_is_of_two_ingested_visits_at_least(seed: int, visits: int) -> None:
    found = past(seed, visits, lag_s=np.zeros(3), failing=0.3)
    weighed, step = found.weighed(), found.step[found.ingested]
    waiting = set(found.step[found.waits].tolist())
    assert set(weighed.varying) | weighed.without_estimate == waiting
    assert not set(weighed.varying) & weighed.without_estimate
    for number, varying in weighed.varying.items():
        assert len(varying.visits) >= 2
        assert (step[varying.visits] == number).all()
        assert (varying.group >= 0).all()
        assert (weighed.weight[varying.visits] > 0).all()
        assert varying.weights.visits[varying.group].min() >= 1
    for number in weighed.without_estimate:
        assert (weighed.weight[step == number] == 0).all()
        assert (weighed.group[step == number] == -1).all()
