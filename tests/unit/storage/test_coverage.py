import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.coverage import utilisation_class


@pytest.mark.parametrize(
    ("utilisation", "expected"),
    [
        (None, -1),
        (math.nan, -1),
        (-0.1, -1),
        (0.0, 0),
        (0.2499, 0),
        (0.25, 1),
        (0.5, 2),
        (0.75, 3),
        (1.0, 3),
        (1.7, 3),
        (math.inf, 3),
    ],
)
def test_classes_are_quarters(utilisation, expected):
    assert utilisation_class(utilisation) == expected


@given(st.floats(0, 2), st.floats(0, 2))
def test_busier_is_never_a_lower_class(a, b):
    low, high = sorted((a, b))
    assert utilisation_class(low) <= utilisation_class(high)
