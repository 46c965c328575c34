"""GIVEN inputs WHEN a model asks what it needs of them THEN what is wrong is named by a type and a sentence."""

import numpy as np
import pytest

from analysis import errors, evidence
from analysis.errors import AnalysisError, BadShape, CannotSay, Constant, NotANumber, TooLittle


def test_numbers_come_through() -> None:
    assert evidence.numbers("x", [1, 2.5]) == pytest.approx([1, 2.5])
    assert evidence.positive("x", 1e-99) == 1e-99


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, np.nan, np.inf], r"load: 2 of 3 values .* such as nan; 0 to 1 is needed"),
        ([-0.1], r"load: the value .* such as -0\.1"),
        ([0.2, 1.1], "1 of 2 values"),
    ],
)
def test_what_is_no_number_is_shown(values: list[float], words: str) -> None:
    with pytest.raises(NotANumber, match=words):
        evidence.numbers("load", values, 0, 1)


@pytest.mark.parametrize(
    ("least", "most", "words"),
    [(-np.inf, np.inf, "finite numbers"), (2, np.inf, "2 or more")],
)
def test_the_range_is_said(least: float, most: float, words: str) -> None:
    with pytest.raises(NotANumber, match=words):
        evidence.number("x", np.nan, least, most)
    with pytest.raises(NotANumber, match="positive numbers"):
        evidence.positive("x", 0)
    with pytest.raises(NotANumber, match="1e\\+300"):
        evidence.number("x", -1e300)


def test_counts_lengths_and_spread() -> None:
    evidence.enough("visits", 3, 3)
    with pytest.raises(TooLittle, match="visits: 2 there, 3 needed"):
        evidence.enough("visits", 2, 3)
    with pytest.raises(BadShape):
        evidence.same_length("Rates and loads", np.zeros(2), np.zeros(3))
    evidence.varied("rates", np.array([1, 1.001]))
    for alike in (np.full(3, 7.0), np.zeros(4), np.zeros(0)):
        with pytest.raises(Constant):
            evidence.varied("rates", alike)


def test_every_reason_has_a_word_of_its_own() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, CannotSay)]
    assert len({kind.reason for kind in kinds}) == len(kinds) == 7
    assert issubclass(CannotSay, AnalysisError)
    assert not issubclass(BadShape, CannotSay)
