"""GIVEN cycle samples and the machines' own accounts WHEN they are compared THEN a discrepancy is told, and noise is not."""

import numpy as np
import pytest

from analysis.cross_check import Verdict, core_seconds, cross_checks
from analysis.errors import BadShape, NotANumber
from analysis.weights import equal


def test_the_papers_formula() -> None:
    """DIGEST G29: 1 % of machine-time sampled, a sample every 10⁷ cycles, 2 GHz."""
    assert core_seconds(4000, 1e7, 0.01, 2e9) == pytest.approx(4000 * 100 * 1e7 / 2e9)


@pytest.mark.parametrize(
    "wrong", [(-1, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 2, 1), (1, 1, 1, np.nan)]
)
def test_numbers_that_cannot_be(wrong: tuple[float, ...]) -> None:
    with pytest.raises(NotANumber):
        core_seconds(*wrong)


def ask(sampled: np.ndarray, monitored: np.ndarray, datacenter: np.ndarray, datacenters: int):
    count = len(sampled)
    return cross_checks(
        np.ones(count),
        np.zeros(count, np.int64),
        equal(np.array([float(count)])),
        datacenter=datacenter,
        sampled=sampled,
        monitored=monitored,
        datacenters=datacenters,
    )


def test_each_datacenter_has_its_verdict() -> None:
    rng = np.random.default_rng(0)
    truth = rng.gamma(3, 5, 300)
    datacenter = np.arange(300) % 3
    wrong = np.array([1.0, 0.8, 1.0])[datacenter]
    noise = np.where(datacenter == 2, 0.6, 0.05)
    found = ask(truth * wrong * rng.normal(1, noise).clip(0.01), truth, datacenter, 4)
    assert [one.verdict for one in found] == [Verdict.AGREE, Verdict.DIFFER, Verdict.UNCLEAR, Verdict.UNCLEAR]
    assert found[1].ratio.value == pytest.approx(0.8, abs=0.02)
    assert found[0].visits == 100
    assert np.isnan(found[3].ratio.value)


def test_readings_that_are_missing_are_refused() -> None:
    with pytest.raises(NotANumber):
        ask(np.array([1.0, np.nan]), np.ones(2), np.zeros(2, np.int64), 1)
    with pytest.raises(BadShape):
        ask(np.ones(2), np.ones(2), np.array([0, 7]), 2)
