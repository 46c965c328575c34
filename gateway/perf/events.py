"""Events: the generic ones with their sources (DIGEST G8), and the meaning of errno when opening one.

`cpu` is the kernel's per-CPU timer and counts nanoseconds on every machine, so that core-seconds of a fleet add up;
`cycles` and the other hardware events exist where there is a PMU, in their own units. Where the kernel's generic event
differs between CPUs (its "cache-misses" are those of the last level on Intel and of the second on AMD), the catalogue
names the CPU's event instead. docs/events.md describes each event on each platform.
"""

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fleetpb import capture_pb2
from gateway.errors import EventUnavailable
from gateway.perf.attributes import Attributes, EventType, Flag, open_event

NANOSECONDS: Final = "nanoseconds"
CYCLES: Final = "cycles"
COUNT: Final = "count"


@dataclass(frozen=True, slots=True)
class Event:
    """An event as the kernel opens it: its fleet-wide name, its source on this machine, and its unit.

    - `default_period`: used if a plan has neither rate nor period: some hundred samples a second of a busy CPU. It is
      prime: a loop that repeats a hundred steps would otherwise be sampled always at the same one.
    - `in_kernel`: it happens only in the kernel, so it is empty without kernel samples.
    - `cpus`: the CPUs that an uncore event must be opened on; None: every CPU.
    - `scale`: a count times `scale` is in `unit`.
    """

    name: str
    source: str
    type: int
    config: int
    unit: str
    config1: int = 0
    config2: int = 0
    default_period: int = 0
    in_kernel: bool = False
    cpus: tuple[int, ...] | None = None
    scale: float = 1.0

    @property
    def counts_time(self) -> bool:
        """Whether a rate in Hz can be converted to a period: for nanoseconds, or cycles at the nominal frequency."""
        return self.unit in {NANOSECONDS, CYCLES}

    def attributes(self) -> Attributes:
        """The kernel's identification of the event, without what to record."""
        return Attributes(type=self.type, config=self.config, config1=self.config1, config2=self.config2)


def _cache_misses(cache: int) -> int:
    """perf_hw_cache_id | read << 8 | miss << 16."""
    return cache | 0 << 8 | 1 << 16


def _hardware(name: str, source: str, config: int, period: int) -> Event:
    return Event(name, source, EventType.HARDWARE, config, COUNT, default_period=period)


def _software(name: str, config: int, period: int, *, in_kernel: bool = False) -> Event:
    return Event(name, name, EventType.SOFTWARE, config, COUNT, default_period=period, in_kernel=in_kernel)


def _misses(name: str, source: str, cache: int, period: int) -> Event:
    return Event(name, source, EventType.CACHE, _cache_misses(cache), COUNT, default_period=period)


_CATALOGUE: Final = (
    Event("cpu", "cpu-clock", EventType.SOFTWARE, 0, NANOSECONDS),
    Event("cycles", "cycles", EventType.HARDWARE, 0, CYCLES),
    _hardware("instructions", "instructions", 1, 50_000_017),
    Event("ref-cycles", "ref-cycles", EventType.HARDWARE, 9, CYCLES),
    _hardware("llc-references", "cache-references", 2, 500_009),
    _hardware("llc-misses", "cache-misses", 3, 100_003),
    _hardware("branches", "branches", 4, 10_000_019),
    _hardware("branch-misses", "branch-misses", 5, 100_003),
    _hardware("stalled-frontend", "stalled-cycles-frontend", 7, 5_000_011),
    _hardware("stalled-backend", "stalled-cycles-backend", 8, 5_000_011),
    _misses("l1d-misses", "L1-dcache-load-misses", 0, 500_009),
    _misses("dtlb-misses", "dTLB-load-misses", 3, 100_003),
    _misses("itlb-misses", "iTLB-load-misses", 4, 100_003),
    _software("page-faults", 2, 97),
    _software("context-switches", 3, 97, in_kernel=True),
    _software("cpu-migrations", 4, 7, in_kernel=True),
)

EVENTS: Final[Mapping[str, Event]] = MappingProxyType({event.name: event for event in _CATALOGUE})

DEFAULT_RATE_HZ: Final = 99.0
"""For events that count time, if a plan has neither rate nor period."""
TRACEPOINT_PERIOD: Final = 97
UNKNOWN_PERIOD: Final = 1_000_003
"""Default period of the CPU's own events, of which only the number is known."""

# A period too long to elapse during a probe.
_NEVER: Final = 1 << 40

_SUPPORT_BY_ERRNO: Final = {
    errno.EACCES: capture_pb2.SUPPORT_DENIED,
    errno.EPERM: capture_pb2.SUPPORT_DENIED,
    errno.ENOSYS: capture_pb2.SUPPORT_DENIED,  # the usual errno of a seccomp filter
    errno.EMFILE: capture_pb2.SUPPORT_DENIED,  # RLIMIT_NOFILE
    errno.EBUSY: capture_pb2.SUPPORT_BUSY,
    errno.ENFILE: capture_pb2.SUPPORT_BUSY,
    errno.ENOSPC: capture_pb2.SUPPORT_BUSY,
}


def support_of(code: int) -> capture_pb2.Support:
    """The meaning of an errno of perf_event_open; 0 is SUPPORT_OK."""
    if code == 0:
        return capture_pb2.SUPPORT_OK
    return _SUPPORT_BY_ERRNO.get(code, capture_pb2.SUPPORT_UNSUPPORTED)


def probe(event: Event, *, own: bool, sampling: bool = True) -> int:
    """Open the event and close it at once: 0, or the errno of the refusal.

    `own`: as an unprivileged user, on the calling thread and without kernel samples. `sampling` False: for counting
    only, which many hypervisors' PMUs and all uncore events allow where they refuse sampling.
    """
    attributes = event.attributes()
    attributes.sample_period = _NEVER if sampling else 0
    attributes.flags = Flag.DISABLED
    if own and not event.in_kernel:
        attributes.flags |= Flag.EXCLUDE_KERNEL
    cpu = min(event.cpus) if event.cpus else _first_cpu()
    try:
        descriptor = open_event(attributes, pid=0 if own else -1, cpu=-1 if own else cpu)
    except OSError as error:
        return error.errno or errno.EINVAL
    os.close(descriptor)
    return 0


def _first_cpu() -> int:
    return min(os.sched_getaffinity(0))


def unavailable(event: Event, code: int) -> EventUnavailable:
    """The error for an event that the kernel refused with this errno."""
    return EventUnavailable(
        f"{event.name} cannot be sampled here: {event.source}: {os.strerror(code)}",
        support=support_of(code),
        errno=code,
    )
