"""GIVEN forecasts of which some are not there WHEN the answer is made THEN none is hidden behind the others."""

from analysis.smt.capacity import forecast
from storage.query.answers.inputs import Unavailable
from storage.query.models.capacity import _none

FOUND = forecast(range(100, 1000, 100), [0.1, 0.21, 0.29, 0.4, 0.52, 0.6, 0.69, 0.8, 0.9], 1.0)
CONSTANT = Unavailable("constant", "Load does not rise.")


def test_one_forecast_is_an_answer() -> None:
    assert _none(CONSTANT, CONSTANT, FOUND) is None
    assert _none(FOUND, CONSTANT, CONSTANT) is None
    assert _none(CONSTANT, Unavailable("too_little", "Nobody calibrated."), CONSTANT) is CONSTANT
