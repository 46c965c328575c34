"""GIVEN a gateway that names a platform WHEN its machine is taken for another THEN nothing is measured."""

import pytest

from collector.calibration_runner import _check_platform
from collector.errors import CalibrationFailed
from fleetpb.gateway_pb2 import CalibrateBegin


@pytest.mark.parametrize("wanted", ["", "EPYC  7763"])
def test_the_platform_of_the_inventory_or_any_where_it_has_none(wanted):
    _check_platform(CalibrateBegin(platform="EPYC  7763"), wanted)


def test_names_are_compared_as_far_as_the_inventory_keeps_them():
    _check_platform(CalibrateBegin(platform="x" * 300), "x" * 256)


@pytest.mark.parametrize(
    ("named", "said"),
    [("Xeon\x1b[2J", "platform Xeon"), ("EPYC 7763", "platform EPYC 7763,"), ("", "platform unknown,")],
)
def test_another_platform_is_not_measured(named, said):
    with pytest.raises(CalibrationFailed, match=said) as refused:
        _check_platform(CalibrateBegin(platform=named), "EPYC  7763")
    assert "--force" in str(refused.value)
    assert "\x1b" not in str(refused.value)
