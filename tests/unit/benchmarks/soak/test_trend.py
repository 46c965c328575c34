"""What counts as growing memory: a slope beyond its own error, through enough samples."""

import pytest

from benchmarks.soak.trend import LEAST_SAMPLES, trend

NOISE = (0.0, 9.0, -9.0, 4.0, -4.0, 7.0, -7.0, 2.0, -2.0)
MINUTES = [minute / 60 for minute in range(30)]


def test_steady_growth_is_growth() -> None:
    found = trend(MINUTES, [100 + 60 * hour for hour in MINUTES])
    assert found.flat is False
    assert found.per_hour == pytest.approx(60)
    assert found.error == pytest.approx(0, abs=1e-6)


def test_a_slope_within_its_error_is_flat() -> None:
    values = [100 + NOISE[n % len(NOISE)] + 15 * hour for n, hour in enumerate(MINUTES)]
    found = trend(MINUTES, values)
    assert found.per_hour > 5, "more than the twentieth of it that is flat"
    assert found.per_hour < 2 * found.error
    assert found.flat is True


@pytest.mark.parametrize(("samples", "told"), [(LEAST_SAMPLES * 3 // 2, True), (LEAST_SAMPLES, False)])
def test_few_samples_have_no_trend(samples: int, told: bool) -> None:
    """A third of the time is for warming up."""
    found = trend(MINUTES[:samples], [100 + 60 * hour for hour in MINUTES[:samples]])
    assert (found.flat is not None) is told
