"""GIVEN solo runs WHEN programs share a chip THEN pressures add up, and degradation is relative."""

import numpy as np
import pytest

from analysis.errors import BadShape, Contradictory, InsufficientData, NotANumber
from analysis.interference.pieces import NAMES, Cuts, of_peak
from analysis.interference.pressure import Pressures, degradation


def test_degradation_is_relative_to_alone() -> None:
    """DIGEST I1."""
    assert degradation([130.0, 100.0], 100.0) == pytest.approx([0.3, 0])
    assert degradation([2.2, 1.0], [2.0, 1.0]) == pytest.approx([0.1, 0])


@pytest.mark.parametrize(
    ("together", "alone", "error"),
    [
        ([1.0], 0.0, NotANumber),
        ([np.nan], 1.0, NotANumber),
        ([1.0, 2.0], [1.0], BadShape),
        ([], 1.0, InsufficientData),
    ],
)
def test_runs_that_cannot_be(together: list[float], alone: float, error: type[Exception]) -> None:
    with pytest.raises(error):
        degradation(together, alone)


def test_pressures_add_up() -> None:
    """DIGEST I2: of all programs, the target too, whoever they are."""
    programs = Pressures(np.array([1.0, 10.0, 100.0]), np.array([0.1, 0.2, 0.4]))
    found = programs.of_mixes(np.array([[0, 1], [0, 2], [1, 2]]))
    assert found.cache == pytest.approx([11, 101, 110])
    assert found.bandwidth == pytest.approx([0.3, 0.5, 0.6])
    with pytest.raises(BadShape):
        programs.of_mixes(np.array([[0, 3]]))


def test_pressures_that_cannot_be() -> None:
    with pytest.raises(NotANumber):
        Pressures(np.array([-1.0]), np.array([1.0]))
    with pytest.raises(NotANumber):
        Pressures(np.array([1.0]), np.array([np.inf]))
    with pytest.raises(BadShape):
        Pressures(np.array([1.0]), np.array([1.0, 2.0]))


def test_the_papers_cuts() -> None:
    """DIGEST I3: (0, 3.2], (3.2, 9.6], (9.6, ∞) of a peak of 12.8 GB/s."""
    cuts = of_peak(12.8)
    assert (cuts.low, cuts.high) == pytest.approx((3.2, 9.6))
    assert cuts.piece(np.array([0.1, cuts.low, 3.3, cuts.high, 9.7, 40])).tolist() == [0, 0, 1, 1, 2, 2]
    assert len(NAMES) == 3


def test_cuts_that_cannot_be() -> None:
    with pytest.raises(NotANumber):
        of_peak(0)
    with pytest.raises(Contradictory):
        Cuts(5, 5)
