"""Measures a core's throughput with one thread and with both, and memory latency and bandwidth (DIGEST A1, D2).

The two sides of a comparison alternate, so that a drifting clock (turbo, heat) affects both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fleetpb import gateway_pb2
from gateway.calibration import refusals
from gateway.calibration.cpu_selection import (
    busy_shares,
    idle_core,
    idle_cpu,
    last_cache_bytes,
    nodes_of_package,
    readers,
)
from gateway.calibration.pinned_threads import ThreadResult, pinned, run_together
from gateway.calibration.pointer_chain import PIECE_BYTES, Chain
from gateway.calibration.workloads import Workload, float_step, integer_step
from gateway.machine.cpu_usage import read as read_usage
from gateway.machine.meminfo import meminfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gateway.calibration.pinned_threads import Step
    from gateway.machine.topology import Topology
    from gateway.settings import CalibrationSettings

Reply = gateway_pb2.CalibrateReply
_End = gateway_pb2.CalibrateEnd
_Request = gateway_pb2.CalibrateRequest
_WORKS: Final[Mapping[int, Workload]] = {
    _Request.WORK_UNSPECIFIED: Workload.INTEGER,
    _Request.INTEGER: Workload.INTEGER,
    _Request.FLOAT: Workload.FLOAT,
    _Request.MEMORY_LOADS: Workload.MEMORY,
}

CACHES: Final = 4
"""Memory of the loads as a multiple of the last-level cache, if allowed …"""
LEAST_CACHES: Final = 3
"""… and the least multiple: of every two cache lines one is loaded (pointer_chain.py)."""
_LEAST_BYTES: Final = 4 * PIECE_BYTES
_LEAST_RAN: Final = 0.9
"""A thread that had its CPU for a smaller share of the time was disturbed."""
_MOST_BESIDE: Final = 0.1
"""Limit of other work on the idle thread of the core, as a share of the time."""
_MEMORY_LEFT: Final = 4
"""The machine must have this multiple of the memory taken."""


class MeasurementStopped(Exception):
    """The caller disconnected, the gateway stops, or a capture arrived."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Parameters of a measurement, and the observations before it."""

    topology: Topology
    usable: frozenset[int]
    """CPUs on which this process may run."""
    busy: Mapping[int, float]
    """Busy share of each CPU just before, 0…1."""
    utilisation: float
    limits: CalibrationSettings
    slice_s: float
    repetitions: int
    doubts: tuple[str, ...]
    """Sentences about the reliability of all results here."""
    halted: Callable[[], bool]

    def run(self, steps: Mapping[int, Step]) -> dict[int, ThreadResult]:
        """Run one slice; raises MeasurementStopped, OSError."""
        done = run_together(steps, self.slice_s, self.halted)
        self.go_on()
        return done

    def go_on(self) -> None:
        """Raise MeasurementStopped if the measurement must end."""
        if self.halted():
            raise MeasurementStopped

    def progress(self, repetition: float) -> Reply:
        """A reply with the number of finished repetitions."""
        return Reply(progress=gateway_pb2.CalibrateProgress(done=repetition / self.repetitions))


def measure_smt(given: Conditions, asked: int, begin: Callable[[Iterable[int]], Reply]) -> Iterator[Reply]:
    """Throughput of one thread of an idle core and of both, in turns; `asked` is a `CalibrateRequest.Work`.

    Raises CalibrationRefused NO_SIBLINGS, BUSY, UNSUPPORTED; MeasurementStopped, OSError.
    """
    core = idle_core(given.topology, given.usable, given.busy, given.limits.quiet)
    yield begin(core)
    work = _WORKS[asked]
    end = _End(engine=work.value, utilisation=given.utilisation, doubts=given.doubts)
    steps = _steps(given, work, core, end)
    for repetition in range(given.repetitions):
        alone, other = core[repetition % 2], core[1 - repetition % 2]
        before = read_usage()
        single = given.run({alone: steps[alone]})[alone]
        beside = busy_shares(before, read_usage()).get(other, 0.0)
        both = given.run(steps).values()
        if beside > _MOST_BESIDE or min(each.ran for each in (single, *both)) < _LEAST_RAN:
            end.disturbed += 1
        else:
            end.single.append(single.rate)
            end.both.append(sum(each.rate for each in both))
        yield given.progress(repetition + 1)
    if len(end.single) < min(2, given.repetitions):
        raise refusals.busy(
            f"other work disturbed {end.disturbed} of {given.repetitions} repetitions, and too few "
            "remain; retry when the machine is idle"
        )
    yield Reply(end=end)


def measure_memory(given: Conditions, begin: Callable[[Iterable[int]], Reply]) -> Iterator[Reply]:
    """Latency of loads on an idle CPU, then the read bandwidth of the idle cores of its socket together.

    Repetitions with other work on one of the CPUs are omitted.

    Raises CalibrationRefused BUSY, UNSUPPORTED; MeasurementStopped, OSError.
    """
    cpu = idle_cpu(given.usable, given.busy, given.limits.quiet)
    reading = readers(given.topology, given.usable, cpu, given.busy, given.limits.quiet)
    yield begin(sorted({cpu, *reading}))
    end = _End(
        engine="glibc obstack, memchr",
        utilisation=given.utilisation,
        reading_cpus=sorted(reading),
        doubts=given.doubts,
    )
    nodes = nodes_of_package(given.topology, cpu)
    if len(nodes) > 1:
        end.doubts.append(
            f"the socket has {len(nodes)} NUMA nodes, and the measurement read the memory of one "
            "node: the bandwidth is that of one node, not of the socket"
        )
    chain = _chain(given, cpu, end)
    follow = chain.follower()
    for repetition in range(given.repetitions):
        alone = given.run({cpu: follow})[cpu]
        if alone.ran < _LEAST_RAN:
            end.disturbed += 1
        else:
            end.latency_ns.append(1e9 / alone.rate)
        yield given.progress(repetition / 2)
    chain.clear()
    streams = {each: chain.reader(share) for each, share in reading.items()}
    for repetition in range(given.repetitions):
        together = given.run(streams).values()
        if min(each.ran for each in together) < _LEAST_RAN:
            end.disturbed += 1
        else:
            end.bytes_per_s.append(sum(each.units / each.wall_s for each in together))
        yield given.progress((given.repetitions + repetition + 1) / 2)
    if min(len(end.latency_ns), len(end.bytes_per_s)) < min(2, given.repetitions):
        raise refusals.busy(
            f"other work disturbed {end.disturbed} of {2 * given.repetitions} measurements, and too "
            "few remain; retry when the machine is idle"
        )
    yield Reply(end=end)


def _steps(given: Conditions, work: Workload, core: tuple[int, int], end: _End) -> dict[int, Step]:
    if work is Workload.MEMORY:
        chain = _chain(given, core[0], end)
        return {cpu: chain.follower(number / len(core)) for number, cpu in enumerate(core)}
    return {cpu: integer_step() if work is Workload.INTEGER else float_step() for cpu in core}


def _chain(given: Conditions, cpu: int, end: _End) -> Chain:
    """A chain over as much memory as needed, allowed and available; records its size and the cache's."""
    cache, allowed = last_cache_bytes(cpu), given.limits.max_bytes
    if allowed < max(LEAST_CACHES * cache, PIECE_BYTES):
        raise refusals.unsupported(
            f"the last-level cache has {cache >> 20} MiB, so loads must be spread over at least "
            f"{LEAST_CACHES * cache >> 20} MiB; the limit is {allowed >> 20} MiB. The operator can "
            "raise it with --calibration-mib, and MemoryMax= of the unit"
        )
    wanted = min(max(CACHES * cache, _LEAST_BYTES) if cache else allowed, allowed)
    there = meminfo().get("MemAvailable", 0)
    if there < _MEMORY_LEFT * wanted:
        raise refusals.busy(f"{wanted >> 20} MiB are needed, too much of the {there >> 20} MiB that are free")
    with pinned(cpu):  # memory belongs to the NUMA node of the CPU that first touches it
        chain = Chain(wanted, given.go_on)
    end.working_set_bytes, end.cache_bytes = chain.size, cache
    if not cache:
        end.doubts.append("the size of the last-level cache is unknown: some loads may have hit it")
    return chain
