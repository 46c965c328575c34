"""Gateways of simulated machines: the real gRPC service, one server per machine, all in one event loop.

Each machine has a Unix socket, because collectors reach only these without certificates. A server of `grpc.aio` costs
27 KiB and nothing while idle (1 000 of them: 61 MiB resident in total, 0.6 ms of CPU per second), so each machine has
its own server with its own admission and record of visits.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

import grpc
import numpy as np

from fleetpb import capture_pb2, gateway_pb2, gateway_pb2_grpc
from gateway.capture.limits import Schedule, schedule
from gateway.capture.packer import FORMAT
from gateway.errors import CalibrationRefused, PlanRefused
from gateway.served_visits import ServedVisits
from gateway.serving.admission import Admission
from gateway.settings import Limits
from simulation import calibration
from simulation.binaries import SymbolFolder
from simulation.captures import Taken, take
from simulation.catalogue import APPLICATIONS
from simulation.fleet import Fleet, slot_of
from simulation.machine_facts import PRODUCER, can_sample, capacity, describe, find_event, has_counters
from simulation.outcomes import Failures, Fate, fate
from simulation.placed_stacks import placed
from simulation.platforms import KERNELS
from simulation.seeded_random import generator

PIECE_BYTES: Final = 256 << 10
BELIEVED_S: Final = 1.0
"""Seconds by which a window may claim to exceed the call before a collector rejects it."""
_PROGRESS_S: Final = 1.0
_OPTIONS: Final = (("grpc.max_receive_message_length", 64 << 10), ("grpc.so_reuseport", 0))

Reply = gateway_pb2.CaptureReply


@dataclass(frozen=True, slots=True)
class Simulation:
    """Shared state of the gateways of one process."""

    fleet: Fleet
    symbols: SymbolFolder
    failures: Failures = field(default_factory=Failures)
    real_time: bool = False
    """Let a window take its full time; otherwise the response comes as early as a collector accepts it."""
    clock: Callable[[], float] = time.time
    bench: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "captures"))
    """Makes captures one after the other: the first ones take seconds, and must not block other calls."""


class SimulatedGateway(gateway_pb2_grpc.GatewayServicer):
    """The gateway of one machine."""

    def __init__(self, simulation: Simulation, machine: int) -> None:
        self._simulation = simulation
        self._machine = machine
        self._limits = Limits()
        self._served_visits = ServedVisits()
        self._admission = Admission(self._served_visits, self._limits)

    async def Describe(  # noqa: N802 - the name on the wire
        self, request: gateway_pb2.DescribeRequest, context: grpc.aio.ServicerContext[object, object]
    ) -> capture_pb2.Machine:
        """Facts of this machine."""
        del request, context
        return describe(self._simulation.fleet, self._machine)

    async def Health(  # noqa: N802 - the name on the wire
        self, request: gateway_pb2.HealthRequest, context: grpc.aio.ServicerContext[object, object]
    ) -> gateway_pb2.HealthReply:
        """Health and current activity."""
        del request, context
        return gateway_pb2.HealthReply(
            producer=PRODUCER,
            format=FORMAT,
            active_captures=self._admission.active,
            finished_captures=self._served_visits.finished,
            uptime_s=self._served_visits.uptime_s,
            utilisation=self._utilisation(self._simulation.clock()),
        )

    async def Capture(  # noqa: N802 - the name on the wire
        self, request: gateway_pb2.Plan, context: grpc.aio.ServicerContext[object, object]
    ) -> AsyncIterator[Reply]:
        """Take one capture, or fail as the visit's fate requires."""
        at = self._simulation.clock()
        utilisation = self._utilisation(at)
        try:
            async for reply in self._capture(request, context, at, utilisation):
                yield reply
        except PlanRefused as refused:
            name = gateway_pb2.Refusal.Reason.Name(refused.reason)
            yield Reply(
                refusal=gateway_pb2.Refusal(reason=name, message=str(refused), utilisation=utilisation)
            )

    async def _capture(
        self,
        plan: gateway_pb2.Plan,
        context: grpc.aio.ServicerContext[object, object],
        at: float,
        utilisation: float,
    ) -> AsyncIterator[Reply]:
        planned = schedule(plan, self._limits, capacity(self._simulation.fleet, self._machine), find_event)
        self._require_one_event(planned)
        what = fate(
            self._simulation.fleet,
            self._simulation.failures,
            self._machine,
            plan.visit_id,
            slot=slot_of(at),
            utilisation=utilisation,
        )
        if what is Fate.AWAY:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "simulated: the machine is down")
        if what is Fate.SILENT:
            await _until_cancelled()
        if what is Fate.REFUSES:
            raise PlanRefused(gateway_pb2.Refusal.TOO_MANY, "simulated: too busy to be sampled")
        with self._admission.admit(plan, arrived=time.monotonic()):
            async for reply in self._sample(plan, planned, what, at=at, utilisation=utilisation):
                yield reply
        self._served_visits.finish()

    async def _sample(
        self, plan: gateway_pb2.Plan, planned: Schedule, what: Fate, *, at: float, utilisation: float
    ) -> AsyncIterator[Reply]:
        yield Reply(
            begin=gateway_pb2.Begin(
                utilisation=utilisation, duration_ms=round(planned.seconds * 1000), changes=planned.changes
            )
        )
        if what is Fate.HANGS:
            await _until_cancelled()
        if what is Fate.BREAKS:
            raise PlanRefused(
                gateway_pb2.Refusal.FAILED, "simulated: sampling failed, the rings could not be read"
            )
        wait = planned.seconds if self._simulation.real_time else max(0.0, planned.seconds - BELIEVED_S)
        ends = time.monotonic() + wait
        while (left := ends - time.monotonic()) > 0:
            await asyncio.sleep(min(_PROGRESS_S, left))
            yield Reply(progress=gateway_pb2.Progress(done=min(1.0, 1.0 - (ends - time.monotonic()) / wait)))
        random = generator(self._simulation.fleet.seed, "visit", int.from_bytes(plan.visit_id, "little"))
        visit_id = plan.visit_id[::-1] if what is Fate.WRONG_VISIT else plan.visit_id
        taken = await asyncio.get_running_loop().run_in_executor(
            self._simulation.bench, lambda: self._take(planned, visit_id, at, random)
        )
        for reply in _delivery(taken, what):
            yield reply

    async def Symbols(  # noqa: N802 - the name on the wire
        self, request: gateway_pb2.SymbolsRequest, context: grpc.aio.ServicerContext[object, object]
    ) -> AsyncIterator[gateway_pb2.SymbolsReply]:
        """Refused: symbols of simulated programs are in the simulation's symbol folder, not on a machine."""
        del request, context
        yield gateway_pb2.SymbolsReply(
            refusal=gateway_pb2.SymbolsRefusal(
                reason=gateway_pb2.SymbolsRefusal.NOT_ALLOWED, message="simulated machines have no symbols"
            )
        )

    async def Calibrate(  # noqa: N802 - the name on the wire
        self, request: gateway_pb2.CalibrateRequest, context: grpc.aio.ServicerContext[object, object]
    ) -> AsyncIterator[gateway_pb2.CalibrateReply]:
        """The true values of the machine's platform, with a benchmark's noise."""
        del context
        try:
            for reply in calibration.answer(
                self._simulation.fleet, self._machine, request, self._simulation.clock()
            ):
                yield reply
        except CalibrationRefused as refused:
            reason = gateway_pb2.CalibrateRefusal.Reason.Name(refused.reason)
            yield gateway_pb2.CalibrateReply(
                refusal=gateway_pb2.CalibrateRefusal(reason=reason, message=str(refused))
            )

    def _take(self, planned: Schedule, visit_id: bytes, at: float, random: np.random.Generator) -> Taken:
        taken = take(self._simulation.fleet, self._machine, planned, visit_id, at=at, random=random)
        self._simulation.symbols.add(taken.builds)
        return taken

    def _utilisation(self, at: float) -> float:
        moment = self._simulation.fleet.at(slot_of(at), np.array([self._machine]))
        return float(moment.utilisation[0])

    def _require_one_event(self, planned: Schedule) -> None:
        physical = has_counters(self._simulation.fleet, self._machine)
        names = [event for turn in planned.turns for event in turn]
        if not any(event.event is not None and can_sample(event.name, physical=physical) for event in names):
            wanted = ", ".join(event.name for event in names)
            raise PlanRefused(gateway_pb2.Refusal.UNSUPPORTED, f"{wanted}: not available on this machine")


def _delivery(taken: Taken, what: Fate) -> list[Reply]:
    packed = taken.packed
    pieces = [
        Reply(data=packed.data[start : start + PIECE_BYTES])
        for start in range(0, len(packed.data), PIECE_BYTES)
    ]
    end = gateway_pb2.End(
        sha256=packed.sha256 if what is not Fate.WRONG_SUM else bytes(32),
        bytes=len(packed.data),
        raw_bytes=packed.raw_bytes,
        samples=packed.samples,
        seconds=taken.seconds if what is not Fate.LONG_WINDOW else 86_400.0,
        utilisation=taken.utilisation,
    )
    return [*pieces, Reply(end=end)]


async def _until_cancelled() -> None:
    await asyncio.Event().wait()


async def serve(
    simulation: Simulation,
    machines: Sequence[int],
    addresses: Sequence[str],
    stop: asyncio.Event,
    ready: Callable[[], None],
) -> None:
    """Serve these machines at these addresses (gRPC targets) until `stop`; call `ready` once all listen.

    Raises RuntimeError for an address that cannot be listened on.
    """
    servers = []
    try:
        for machine, address in zip(machines, addresses, strict=True):
            server = grpc.aio.server(options=_OPTIONS)
            gateway_pb2_grpc.add_GatewayServicer_to_server(SimulatedGateway(simulation, machine), server)
            server.add_insecure_port(address)
            await server.start()
            servers.append(server)
        simulation.bench.submit(warm_up, simulation.fleet, simulation.clock())
        ready()
        await stop.wait()
    finally:
        await asyncio.gather(*(server.stop(None) for server in servers))
        simulation.bench.shutdown(cancel_futures=True)


def warm_up(fleet: Fleet, at: float) -> None:
    """Compute the stacks of the current programs, which would otherwise delay the first captures."""
    releases = fleet.at(slot_of(at)).release
    for number, application in enumerate(APPLICATIONS):
        for release in np.unique(releases[:, number]).tolist():
            for kernel in range(len(KERNELS)):
                placed(application, fleet.seed, release, kernel)
