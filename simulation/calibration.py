"""Simulated response to Calibrate: the platform's true values with the noise of a repeated benchmark."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from fleetpb import gateway_pb2
from gateway.calibration import refusals
from gateway.calibration.calibration_service import plan
from gateway.settings import CalibrationSettings
from simulation.fleet import Fleet
from simulation.platforms import PLATFORMS
from simulation.seeded_random import normal

NOISE: Final = 0.01
"""Standard deviation of a repetition, relative to the figure."""
_ALLOWED: Final = CalibrationSettings(allowed=True)
_UNITS_PER_S: Final = 2.5e9
"""Work units per second of one thread alone; the value is arbitrary."""
_CACHE_BYTES: Final = 32 << 20

Reply = gateway_pb2.CalibrateReply


def answer(fleet: Fleet, machine: int, request: gateway_pb2.CalibrateRequest, at: float) -> Iterator[Reply]:
    """The whole stream at once; keeps no CPU busy. `at` is Unix time, s. Raises CalibrationRefused if invalid."""
    planned = plan(request, _ALLOWED)
    platform = PLATFORMS[fleet.platform[machine]]
    cores = int(fleet.cpus[machine]) // fleet.threads
    if request.what == gateway_pb2.CalibrateRequest.SMT and fleet.threads < 2:
        raise refusals.no_siblings("simulated: SMT is switched off on this machine")
    yield Reply(
        begin=gateway_pb2.CalibrateBegin(
            platform=platform.name,
            cpus=(0, cores),
            duration_ms=round(planned.seconds * 1000),
            repetitions=planned.repetitions,
            changes=planned.changes,
        )
    )
    again = np.arange(planned.repetitions)

    def measured(value: float, what: str) -> list[float]:
        noise = normal(fleet.seed, f"calibration of {what}", machine, int(at), again)
        return [float(each) for each in value * np.exp(NOISE * noise)]

    end = gateway_pb2.CalibrateEnd(engine="simulated")
    if request.what == gateway_pb2.CalibrateRequest.SMT:
        end.single.extend(measured(_UNITS_PER_S, "one thread"))
        end.both.extend(measured(2 * _UNITS_PER_S / platform.overlap, "both threads"))
    else:
        end.latency_ns.extend(measured(platform.latency_ns, "latency"))
        end.bytes_per_s.extend(measured(platform.peak_gbs * 1e9, "bandwidth"))
        end.reading_cpus.extend(range(min(cores, 16)))
        end.cache_bytes, end.working_set_bytes = _CACHE_BYTES, 4 * _CACHE_BYTES
    yield Reply(progress=gateway_pb2.CalibrateProgress(done=1.0))
    yield Reply(end=end)
