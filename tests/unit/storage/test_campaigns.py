import pytest

from storage.campaigns import Definition, EventPlan

CPU = EventPlan("cpu", duration_ms=5000, rate_hz=99)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"events": ()},
        {"period_s": 0},
        {"period_s": float("nan")},
        {"visits_per_round": -1},
        {"failure_threshold": 0},
        {"failure_threshold": 1.01},
        {"failure_window": 0},
    ],
)
def test_senseless_definitions_are_refused(wrong):
    right = {"name": "x", "period_s": 60.0, "visits_per_round": 0.5, "events": (CPU,)}
    Definition(**right)
    with pytest.raises(ValueError):
        Definition(**right | wrong)
