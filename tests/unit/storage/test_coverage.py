import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.coverage import hours_between, utilisation_class


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


NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start_s", "end_s", "hours"),
    [(0, 60, 1), (0, 3600, 1), (3590, 3600, 1), (3590, 3601, 2), (0, 86_400, 24), (5, 5, 1), (0, 0, 1)],
)
def test_a_span_touches_the_hours_it_has_a_moment_in(start_s, end_s, hours):
    first = int(NOON.timestamp()) // 3600
    start, end = (NOON + timedelta(seconds=s) for s in (start_s, end_s))
    assert list(hours_between(start, end)) == list(range(first, first + hours))
