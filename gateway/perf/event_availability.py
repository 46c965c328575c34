"""Whether this machine has an event, and if not, the reason and the fix. A missing event is never reported as 0."""

from __future__ import annotations

import errno
import os
import struct
import time
from dataclasses import dataclass
from fcntl import ioctl
from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.errors import EventUnavailable
from gateway.perf.attributes import IOC_ENABLE, EventType, Flag, ReadFormat, open_event
from gateway.perf.event_lookup import GENERIC_NAMES, find_event
from gateway.perf.events import Event, probe, support_of
from gateway.perf.uncore import uncore_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_SPIN_S: Final = 0.002
"""Longer than the kernel's interval for rotating counters (at most 4 ms, 1 ms by default)."""

_HINTS: Final = {
    capture_pb2.SUPPORT_OK: "",
    capture_pb2.SUPPORT_DENIED: "run as root or grant CAP_PERFMON (if kernel.perf_event_paranoid is 3 or more, kernels of Debian "
    "and Ubuntu need 2, or CAP_SYS_ADMIN); in a container also allow perf_event_open",
    capture_pb2.SUPPORT_BUSY: "another program holds the counter: perf, or sysctl kernel.nmi_watchdog=0 frees one",
    capture_pb2.SUPPORT_UNSUPPORTED: "this CPU, or the hypervisor above it, has no such counter",
    capture_pb2.SUPPORT_NOT_COUNTED: "it opens but never counts: the hypervisor does not provide real counters",
}
_COUNT_IT: Final = "it cannot be sampled, only counted: --counter"


@dataclass(frozen=True, slots=True)
class Availability:
    """One event on this machine. `support` and `errno` are those of sampling; `counts_only`: only counting works."""

    name: str
    source: str
    support: int
    errno: int = 0
    counts_only: bool = False
    advice: str = ""

    def message(self) -> capture_pb2.EventSupport:
        """The event in the reply to Describe."""
        return capture_pb2.EventSupport(
            event=self.name,
            support=capture_pb2.Support.Name(self.support),
            errno=self.errno,
            source=self.source,
            counts_only=self.counts_only,
        )


def check_event(name: str, *, own: bool) -> Availability:
    """Find the event and open it once or twice; raises BadEventName."""
    try:
        event = find_event(name)
    except EventUnavailable as reason:
        return Availability(
            name, "", reason.support, reason.errno, advice=str(reason).removeprefix(f"{name}: ")
        )
    return check_found_event(event, own=own)


def check_found_event(event: Event, *, own: bool) -> Availability:
    """Open it for sampling; if that fails for a reason other than privileges, also for counting."""
    code = probe(event, own=own)
    support = support_of(code)
    if not code:
        return Availability(event.name, event.source, support)
    if support == capture_pb2.SUPPORT_UNSUPPORTED and not probe(event, own=own, sampling=False):
        return Availability(event.name, event.source, support, code, counts_only=True, advice=_COUNT_IT)
    return Availability(event.name, "", support, code, advice=_HINTS[support])


def event_support(*, own: bool) -> list[capture_pb2.EventSupport]:
    """Every generic event, for Describe; takes some milliseconds."""
    return [check_event(name, own=own).message() for name in GENERIC_NAMES]


def check_events(names: Iterable[str], *, own: bool) -> list[Availability]:
    """The named events, or else every generic event and the sockets' counters, for a person.

    An event that opens is also run for a moment, because a hypervisor may grant counters that never count.
    """
    named = tuple(names)
    availabilities = [_run(name, own=own) for name in named or GENERIC_NAMES]
    if not named:
        beside = {event.name: event for group in uncore_groups() for event in group}
        availabilities += [check_found_event(event, own=own) for event in beside.values()]
    return availabilities


def table(availabilities: Sequence[Availability]) -> Iterator[str]:
    """Lines of text with aligned columns: event, verdict, source, errno, what to do."""
    rows = [("event", "verdict", "source", "errno", "what to do")]
    for availability in availabilities:
        support_name = capture_pb2.Support.Name(availability.support).removeprefix("SUPPORT_").lower()
        rows.append(
            (
                availability.name,
                "counts only" if availability.counts_only else support_name,
                availability.source or "-",
                errno.errorcode.get(availability.errno, str(availability.errno))
                if availability.errno
                else "-",
                availability.advice,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[4]]).rstrip()


def _run(name: str, *, own: bool) -> Availability:
    availability = check_event(name, own=own)
    if availability.support != capture_pb2.SUPPORT_OK:
        return availability
    event = find_event(name)
    if event.type in {EventType.SOFTWARE, EventType.TRACEPOINT} or _runs(event):
        return availability
    never = capture_pb2.SUPPORT_NOT_COUNTED
    return Availability(name, event.source, never, advice=_HINTS[never])


def _runs(event: Event) -> bool:
    """Whether a counter runs on this thread while it keeps a CPU busy for a moment."""
    attributes = event.attributes()
    attributes.flags = Flag.DISABLED | Flag.EXCLUDE_KERNEL
    attributes.read_format = ReadFormat.TOTAL_TIME_ENABLED | ReadFormat.TOTAL_TIME_RUNNING
    try:
        descriptor = open_event(attributes, pid=0, cpu=-1)
    except OSError:
        return True  # it opens on whole CPUs only: no evidence against it
    try:
        ioctl(descriptor, IOC_ENABLE, 0)
        until = time.monotonic() + _SPIN_S
        while time.monotonic() < until:
            pass
        running: int = struct.unpack("<3Q", os.read(descriptor, 24))[2]
    finally:
        os.close(descriptor)
    return running > 0
