"""GIVEN repeated measurements of one figure WHEN they are averaged THEN the interval is Student's, or open."""

import numpy as np
import pytest
from scipy import stats

from analysis.errors import InsufficientData, NotANumber
from analysis.repeated_measurements import mean_of


def test_the_interval_is_that_of_scipys_t():
    values = [90.0, 92.0, 91.0, 95.0]
    found = mean_of("latencies", values)
    lo, hi = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert (found.value, found.lo, found.hi) == pytest.approx((np.mean(values), lo, hi))


def test_a_single_one_bounds_nothing_and_no_figure_is_below_0():
    assert mean_of("latencies", [91.0]).hi == np.inf
    assert mean_of("latencies", [1.0, 100.0]).lo == 0.0
    assert mean_of("latencies", [3.0, 3.0]).exact


@pytest.mark.parametrize(
    ("values", "error"),
    [([], InsufficientData), ([1.0, np.nan], NotANumber), ([1.0, 0.0], NotANumber), ([np.inf], NotANumber)],
)
def test_what_is_no_measurement_is_refused(values, error):
    with pytest.raises(error):
        mean_of("latencies", values)
