"""GIVEN a simulated machine WHEN it is calibrated THEN its platform's truth comes out, with some noise."""

import asyncio

import grpc
import pytest

from analysis.repeated_measurements import mean_of
from analysis.smt.overlap import from_throughput
from collector.calibration_runner import Workload, calibrate, memory_request, smt_request
from collector.errors import CalibrationFailed
from fleetpb import gateway_pb2, gateway_pb2_grpc
from gateway.errors import CalibrationRefused
from simulation.binaries import SymbolFolder
from simulation.calibration import NOISE, answer
from simulation.fleet import Fleet
from simulation.gateways import SimulatedGateway, Simulation
from simulation.platforms import PLATFORMS

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


def test_cores_of_one_thread_have_no_overlap_to_measure():
    alone = Fleet(16, seed=7, smt=False)
    with pytest.raises(CalibrationRefused, match="switched off") as refused:
        list(answer(alone, 0, Request(what=Request.SMT), AT))
    assert refused.value.reason == gateway_pb2.CalibrateRefusal.NO_SIBLINGS
    assert list(answer(alone, 0, Request(what=Request.MEMORY, repetitions=2), AT))


def test_it_can_be_asked_again_and_says_something_else_later():
    wanted = Request(what=Request.MEMORY)
    assert list(answer(FLEET, 0, wanted, AT)) == list(answer(FLEET, 0, wanted, AT))
    assert list(answer(FLEET, 0, wanted, AT)) != list(answer(FLEET, 0, wanted, AT + 60))


def test_what_makes_no_sense_is_refused_as_by_a_real_one():
    with pytest.raises(CalibrationRefused):
        list(answer(FLEET, 0, Request(), AT))


async def _asked(tmp_path):
    simulation = Simulation(FLEET, SymbolFolder(tmp_path / "symbols"), clock=lambda: AT)
    server = grpc.aio.server()
    gateway_pb2_grpc.add_GatewayServicer_to_server(SimulatedGateway(simulation, 3), server)
    address = f"unix:{tmp_path}/gateway.sock"
    server.add_insecure_port(address)
    await server.start()
    done = []
    try:
        found = await calibrate(address, smt_request(Workload.MEMORY, 2.0, 4), on_progress=done.append)
        with pytest.raises(CalibrationFailed, match="INVALID: duration_ms"):
            await calibrate(address, memory_request(0.1, 4))
    finally:
        await server.stop(None)
    return found, done


def test_a_collector_gets_it_from_a_simulated_gateway(tmp_path):
    found, done = asyncio.run(_asked(tmp_path))
    assert found.platform == PLATFORMS[FLEET.platform[3]].name
    assert len(found.single) == len(found.both) == 4
    assert done == [1.0]
