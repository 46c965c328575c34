"""Generic events, what backs each of them on Linux, and whether this machine has it (DIGEST G8).

`cpu` is the kernel's per-CPU timer and counts nanoseconds on every machine, so that core-seconds of a fleet
add up; `cycles` and the other hardware events exist beside it where there is a PMU, in their own units.
"""

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fleetpb import capture_pb2
from gateway.perf.attributes import Attributes, EventType, Flag, open_event

NANOSECONDS: Final = "nanoseconds"
CYCLES: Final = "cycles"
COUNT: Final = "count"


@dataclass(frozen=True, slots=True)
class Event:
    """A generic event: its fleet-wide name, the kernel's event behind it, and what one period unit is."""

    name: str
    source: str
    type: EventType
    config: int
    unit: str

    @property
    def counts_time(self) -> bool:
        """A rate in Hz can be turned into a period: nanoseconds, or cycles at the nominal frequency."""
        return self.unit in {NANOSECONDS, CYCLES}


def _cache_misses(cache: int) -> int:
    """perf_hw_cache_id | read << 8 | miss << 16."""
    return cache | 0 << 8 | 1 << 16


_CATALOGUE: Final = (
    Event("cpu", "cpu-clock", EventType.SOFTWARE, 0, NANOSECONDS),
    Event("cycles", "cycles", EventType.HARDWARE, 0, CYCLES),
    Event("instructions", "instructions", EventType.HARDWARE, 1, COUNT),
    Event("llc-references", "cache-references", EventType.HARDWARE, 2, COUNT),
    Event("llc-misses", "cache-misses", EventType.HARDWARE, 3, COUNT),
    Event("branches", "branches", EventType.HARDWARE, 4, COUNT),
    Event("branch-misses", "branch-misses", EventType.HARDWARE, 5, COUNT),
    Event("l1d-misses", "L1-dcache-load-misses", EventType.CACHE, _cache_misses(0), COUNT),
    Event("dtlb-misses", "dTLB-load-misses", EventType.CACHE, _cache_misses(3), COUNT),
    Event("page-faults", "page-faults", EventType.SOFTWARE, 2, COUNT),
    Event("context-switches", "context-switches", EventType.SOFTWARE, 3, COUNT),
    Event("cpu-migrations", "cpu-migrations", EventType.SOFTWARE, 4, COUNT),
)

EVENTS: Final[Mapping[str, Event]] = MappingProxyType({event.name: event for event in _CATALOGUE})

_SUPPORT_BY_ERRNO: Final = {
    errno.EACCES: capture_pb2.SUPPORT_DENIED,
    errno.EPERM: capture_pb2.SUPPORT_DENIED,
    errno.ENOSYS: capture_pb2.SUPPORT_DENIED,  # what a seccomp filter commonly answers
    errno.EBUSY: capture_pb2.SUPPORT_BUSY,
}


def support_of(code: int) -> capture_pb2.Support:
    """The verdict that an errno of perf_event_open stands for; 0 is SUPPORT_OK."""
    if code == 0:
        return capture_pb2.SUPPORT_OK
    return _SUPPORT_BY_ERRNO.get(code, capture_pb2.SUPPORT_UNSUPPORTED)


def probe(event: Event, *, own: bool) -> int:
    """Open the event for sampling and close it at once: 0, or the errno of the refusal.

    `own`: as an unprivileged user may, on the calling thread and without the kernel's part.
    """
    attributes = Attributes(type=event.type, config=event.config, sample_period=1 << 40)
    attributes.flags = Flag.DISABLED | Flag.EXCLUDE_HV | (Flag.EXCLUDE_KERNEL if own else 0)
    try:
        descriptor = open_event(attributes, pid=0 if own else -1, cpu=-1 if own else _first_cpu())
    except OSError as error:
        return error.errno or errno.EINVAL
    os.close(descriptor)
    return 0


def _first_cpu() -> int:
    return min(os.sched_getaffinity(0))
