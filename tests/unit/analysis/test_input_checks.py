"""GIVEN inputs WHEN a model asks what it needs of them THEN what is wrong is named by a type and a sentence."""

import numpy as np
import pytest

from analysis import errors, input_checks
from analysis.errors import AnalysisError, BadShape, Constant, InsufficientData, NotANumber, NotEstimable


def test_numbers_come_through() -> None:
    assert input_checks.numbers("x", [1, 2.5]) == pytest.approx([1, 2.5])
    assert input_checks.positive("x", 1e-99) == 1e-99


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, np.nan, np.inf], r"load: 2 of 3 values .* such as nan; 0 to 1 is needed"),
        ([-0.1], r"load: the value -0\.1"),
        ([0.2, 1.1], "1 of 2 values"),
    ],
)
def test_what_is_no_number_is_shown(values: list[float], words: str) -> None:
    with pytest.raises(NotANumber, match=words):
        input_checks.numbers("load", values, 0, 1)


@pytest.mark.parametrize(
    ("least", "most", "words"),
    [(-np.inf, np.inf, "finite numbers"), (2, np.inf, "2 or more")],
)
def test_the_range_is_said(least: float, most: float, words: str) -> None:
    with pytest.raises(NotANumber, match=words):
        input_checks.number("x", np.nan, least, most)
    with pytest.raises(NotANumber, match="positive numbers"):
        input_checks.positive("x", 0)
    with pytest.raises(NotANumber, match="1e\\+300"):
        input_checks.number("x", -1e300)


def test_counts_lengths_and_spread() -> None:
    input_checks.enough("visits", 3, 3)
    with pytest.raises(InsufficientData, match="visits: 2 available, 3 needed"):
        input_checks.enough("visits", 2, 3)
    with pytest.raises(BadShape):
        input_checks.same_length("Rates and loads", np.zeros(2), np.zeros(3))
    input_checks.varied("rates", np.array([1, 1.001]))
    for alike in (np.full(3, 7.0), np.zeros(4), np.zeros(0)):
        with pytest.raises(Constant):
            input_checks.varied("rates", alike)


def test_every_reason_has_a_word_of_its_own() -> None:
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, NotEstimable)
    ]
    assert len({kind.reason for kind in kinds}) == len(kinds) == 7
    assert issubclass(NotEstimable, AnalysisError)
    assert not issubclass(BadShape, NotEstimable)
