"""Facts of a simulated machine: the response to Describe, and the head of its captures."""

import uuid
from typing import Final

from fleetpb import capture_pb2
from gateway.capture.limits import Capacity
from gateway.errors import EventUnavailable
from gateway.perf.events import EVENTS, Event
from simulation import binaries
from simulation.fleet import Fleet
from simulation.platforms import KERNELS, PLATFORMS
from simulation.rates import HARDWARE, RATED
from simulation.seeded_random import uniform, word

PRODUCER: Final = "fleetprof-simulate 0.1.0"
_VIRTUAL: Final = 2
"""Datacenter with virtual machines, which have no performance counters."""
_ENOENT: Final = 2
_GIB_PER_CPU: Final = 4
_SAMPLE_COST_S: Final = 30e-6


def kernel_of(fleet: Fleet, machine: int) -> int:
    """Index into `platforms.KERNELS`."""
    return int(fleet.kernel[machine])


def has_counters(fleet: Fleet, machine: int) -> bool:
    """Whether hardware events can be counted."""
    return bool(fleet.datacenter[machine] != _VIRTUAL)


def capacity(fleet: Fleet, machine: int) -> Capacity:
    """Cost of sampling on the machine, by which a gateway thins a plan."""
    return Capacity(int(fleet.cpus[machine]), _SAMPLE_COST_S, PLATFORMS[fleet.platform[machine]].nominal_mhz)


def find_event(name: str) -> Event:
    """The generic event of that name, as if the kernel supported it.

    Raises EventUnavailable for other names.
    """
    event = EVENTS.get(name)
    if event is None:
        raise EventUnavailable(
            f"{name}: a simulated machine has generic events only",
            support=capture_pb2.SUPPORT_UNSUPPORTED,
            errno=_ENOENT,
        )
    return event


def describe(fleet: Fleet, machine: int) -> capture_pb2.Machine:
    """The machine as its gateway describes it."""
    platform = PLATFORMS[fleet.platform[machine]]
    cpus = int(fleet.cpus[machine])
    number = kernel_of(fleet, machine)
    name = fleet.name(machine)
    physical = has_counters(fleet, machine)
    return capture_pb2.Machine(
        hostname=name,
        platform=platform.name,
        architecture="x86_64",
        kernel_release=KERNELS[number],
        kernel_version="#1 SMP PREEMPT_DYNAMIC simulated",
        kernel_build_id=binaries.kernel(number, fleet.seed).build_id.hex(),
        boot_id=str(uuid.UUID(int=word(f"boot {fleet.seed} {name}") << 64 | word(f"id {name}"))),
        logical_cpus=cpus,
        cores=cpus // fleet.threads,
        packages=platform.packages,
        threads_per_core=fleet.threads,
        smt="on" if fleet.threads > 1 else "off",
        nominal_mhz=platform.nominal_mhz,
        memory_bytes=cpus * _GIB_PER_CPU << 30,
        numa_nodes=platform.packages,
        virtualization="none" if physical else "KVM",
        os="Debian GNU/Linux 12 (bookworm)",
        labels={"simulated": "yes"},
        events=[_support(name, source=event.source, physical=physical) for name, event in EVENTS.items()],
    )


def can_sample(event: str, *, physical: bool) -> bool:
    """Whether a generic event is available: hardware events need a physical machine, all events a modelled rate."""
    return event in RATED and (physical or event not in HARDWARE)


def _support(event: str, *, source: str, physical: bool) -> capture_pb2.EventSupport:
    if not can_sample(event, physical=physical):
        return capture_pb2.EventSupport(event=event, support=capture_pb2.SUPPORT_UNSUPPORTED, errno=_ENOENT)
    return capture_pb2.EventSupport(event=event, support=capture_pb2.SUPPORT_OK, source=source)


def clock_skew_s(fleet: Fleet, machine: int) -> float:
    """Error of the machine's wall clock; 0.0 for most."""
    lies = uniform(fleet.seed, "liar", machine)
    hours = 26.0 * (2.0 * float(uniform(fleet.seed, "skew", machine)) - 1.0)
    return hours * 3600.0 if lies < 0.015 else 0.0
