"""GIVEN a simulated machine WHEN it is calibrated THEN its platform's truth comes out, with some noise."""

import pytest

from analysis.repeated import mean_of
from analysis.smt.overlap import from_throughput
from fleetpb import gateway_pb2
from gateway.errors import CalibrationRefused
from services.simulate.calibrating import NOISE, answer
from services.simulate.fleet import Fleet
from services.simulate.platforms import PLATFORMS

Request = gateway_pb2.CalibrateRequest
FLEET = Fleet(16, seed=7)
AT = 1_700_000_000.0


@pytest.mark.parametrize("machine", range(4))
def test_the_truth_comes_out(machine):
    platform = PLATFORMS[FLEET.platform[machine]]
    begin, _, last = answer(FLEET, machine, Request(what=Request.SMT, repetitions=20), AT)
    assert begin.begin.platform == platform.name
    overlap = from_throughput(last.end.single, last.end.both)
    assert overlap.repetitions == 20
    assert overlap.coefficient == pytest.approx(platform.overlap, rel=2 * NOISE)
    *_, last = answer(FLEET, machine, Request(what=Request.MEMORY, repetitions=20), AT)
    assert mean_of("latency", last.end.latency_ns).value == pytest.approx(platform.latency_ns, rel=2 * NOISE)
    assert mean_of("bandwidth", last.end.bytes_per_s).value == pytest.approx(
        platform.peak_gbs * 1e9, rel=2 * NOISE
    )


def test_it_can_be_asked_again_and_says_something_else_later():
    wanted = Request(what=Request.MEMORY)
    assert list(answer(FLEET, 0, wanted, AT)) == list(answer(FLEET, 0, wanted, AT))
    assert list(answer(FLEET, 0, wanted, AT)) != list(answer(FLEET, 0, wanted, AT + 60))


def test_what_makes_no_sense_is_refused_as_by_a_real_one():
    with pytest.raises(CalibrationRefused):
        list(answer(FLEET, 0, Request(), AT))
