"""GIVEN shares over time WHEN a roll-out is asked THEN the times at which it reached its levels are bounded by intervals."""

import numpy as np
import pytest

from analysis.audits.rollout import disappearance, rollout
from analysis.errors import BadShape, Constant, Contradictory, InsufficientData, NotANumber

HOURS = np.arange(0.0, 48.0, 2.0)


def seen(
    rng: np.random.Generator, truth: np.ndarray, samples: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    share = rng.binomial(samples, truth) / samples
    half = 1.96 * np.sqrt(np.maximum(share * (1 - share), 1 / samples) / samples)
    return share, np.maximum(share - half, 0), np.minimum(share + half, 1)


def logistic(middle: float, pace: float) -> np.ndarray:
    return 1 / (1 + np.exp(-(HOURS - middle) / pace))


def test_levels_are_reached_when_they_are() -> None:
    found = rollout(HOURS, *seen(np.random.default_rng(0), logistic(20, 3), 20_000))
    assert found.reached[0.5].value == pytest.approx(20, abs=0.5)
    assert found.reached[0.1].value == pytest.approx(20 - 3 * np.log(9), abs=0.7)
    assert found.duration == pytest.approx(6 * np.log(9), abs=1)
    assert not found.fell_back


def test_intervals_hold_the_truth() -> None:
    rng = np.random.default_rng(1)
    inside = sum(rollout(HOURS, *seen(rng, logistic(20, 4), 200)).reached[0.5].holds(20) for _ in range(200))
    assert inside >= 186


def test_a_canary_that_waits_has_not_reached_the_rest() -> None:
    truth = np.where(HOURS < 10, 0, 0.12)
    found = rollout(HOURS, *seen(np.random.default_rng(2), truth, 50_000))
    assert set(found.reached) == {0.1}
    assert 8 <= found.reached[0.1].value <= 10
    assert found.duration is None


def test_what_was_there_from_the_start_has_no_beginning() -> None:
    found = rollout(HOURS, *seen(np.random.default_rng(3), np.linspace(0.3, 1, 24), 5_000))
    assert found.reached[0.1].lo == -np.inf


def test_a_roll_back_is_told() -> None:
    truth = np.where((HOURS > 10) & (HOURS < 30), 0.8, 0.05)
    assert rollout(HOURS, *seen(np.random.default_rng(4), truth, 5_000)).fell_back


def test_a_share_that_never_changes_falls_back_by_chance_only() -> None:
    """By 168 hours' plain intervals, every sixth week of a constant share had fallen back."""
    rng, hours = np.random.default_rng(6), np.arange(168.0)
    told = 0
    for _ in range(60):
        try:
            told += rollout(hours, *seen(rng, np.full(168, 0.3), 400)).fell_back
        except Constant:
            continue
    assert told <= 4


def test_a_date_between_two_times_is_known_to_the_gap() -> None:
    found = rollout([0.0, 10.0], [0.0, 1.0], [0.0, 0.999], [0.001, 1.0]).reached[0.5]
    assert (found.lo, found.hi) == (0.0, 10.0)


def test_what_disappears_is_gone_at_last() -> None:
    found = disappearance(HOURS, *seen(np.random.default_rng(5), 1 - logistic(15, 1.5), 50_000))
    assert found.reached[0.5].value == pytest.approx(15, abs=0.5)
    assert found.reached[0.99].value == pytest.approx(15 + 1.5 * np.log(99), abs=2)


@pytest.mark.parametrize(
    ("time", "share", "lo", "hi", "error"),
    [
        ([0.0], [0.1], [0.0], [0.2], InsufficientData),
        ([0.0, 1.0], [0.1, 0.1], [0.0, 0.0], [0.2, 0.2], Constant),
        ([1.0, 1.0], [0.1, 0.9], [0.0, 0.8], [0.2, 1.0], Contradictory),
        ([0.0, 1.0], [0.5, 0.9], [0.0, 0.8], [0.2, 1.0], Contradictory),
        ([0.0, 1.0], [0.1, np.nan], [0.0, 0.8], [0.2, 1.0], NotANumber),
        ([0.0, 1.0], [0.1, 1.9], [0.0, 0.8], [0.2, 2.0], NotANumber),
        ([0.0, 1.0], [0.1], [0.0], [0.2], BadShape),
    ],
)
def test_what_cannot_be_said(
    time: list[float], share: list[float], lo: list[float], hi: list[float], error: type[Exception]
) -> None:
    with pytest.raises(error):
        rollout(time, share, lo, hi)
