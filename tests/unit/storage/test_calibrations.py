"""GIVEN a figure WHEN no machine could have it THEN it is refused, whoever says it."""

import pytest

from storage.calibrations import Calibration, Kind


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [(Kind.SMT, 1.0, 10.0), (Kind.MEMORY_LATENCY, 1.0, 1e4), (Kind.MEMORY_BANDWIDTH, 1.0, 1e13)],
)
def test_a_figure_lies_within_what_machines_can_be(kind: Kind, least: float, most: float):
    assert Calibration(kind, "CPU", "", least).value == least
    assert Calibration(kind, "CPU", "", most).value == most
    for value in (0.0, -1.0, 1.001 * most, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="must be"):
            Calibration(kind, "CPU", "", value)
    if kind is not Kind.MEMORY_BANDWIDTH:
        with pytest.raises(ValueError, match="at least 1 and"):
            Calibration(kind, "CPU", "", 0.999 * least)
