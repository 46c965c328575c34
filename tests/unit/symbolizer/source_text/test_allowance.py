"""GIVEN an allowance WHEN it is used up THEN the next is allowed an hour after the first."""

from symbolizer.source_text.fetch_quota import FetchQuota


def test_so_many_in_any_hour() -> None:
    now = [0.0]
    allowance = FetchQuota(2, clock=lambda: now[0])
    assert allowance.take() == 0
    now[0] = 1000
    assert allowance.take() == 0
    assert allowance.take() == 2600
    now[0] = 3599
    assert allowance.take() == 1
    now[0] = 3600
    assert allowance.take() == 0
    assert allowance.take() == 1000


def test_none_at_all() -> None:
    assert FetchQuota(0).take() > 0
