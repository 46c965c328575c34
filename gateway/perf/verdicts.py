"""Whether this machine has an event, and if not, why not and what to do: never a 0 for what was not counted."""

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
from gateway.perf.beside_cores import memory_and_energy
from gateway.perf.events import Event, probe, support_of
from gateway.perf.registry import GENERIC_NAMES, find_event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_SPIN_S: Final = 0.002
"""Longer than the kernel lets counters take turns for (4 ms at most, 1 ms by default)."""

_ADVICE: Final = {
    capture_pb2.SUPPORT_OK: "",
    capture_pb2.SUPPORT_DENIED: "run as root or grant CAP_PERFMON (where kernel.perf_event_paranoid is 3 or more, Debian's "
    "and Ubuntu's kernels want it at 2, or CAP_SYS_ADMIN); in a container also allow perf_event_open",
    capture_pb2.SUPPORT_BUSY: "another program holds the counter: perf, or sysctl kernel.nmi_watchdog=0 frees one",
    capture_pb2.SUPPORT_UNSUPPORTED: "this CPU, or the hypervisor above it, has no such counter",
    capture_pb2.SUPPORT_NOT_COUNTED: "it opens but never counts: the hypervisor's counters are not real",
}
_COUNT_IT: Final = "cannot be sampled, but counted: --counter"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One event here. `support` and `errno` are of sampling it; `counts_only`: counting alone works."""

    name: str
    source: str
    support: int
    errno: int = 0
    counts_only: bool = False
    advice: str = ""

    def message(self) -> capture_pb2.EventSupport:
        """As Describe says it."""
        return capture_pb2.EventSupport(
            event=self.name,
            support=capture_pb2.Support.Name(self.support),
            errno=self.errno,
            source=self.source,
            counts_only=self.counts_only,
        )


def judge(name: str, *, own: bool) -> Verdict:
    """Look for the event and open it once or twice; raises BadEventName."""
    try:
        event = find_event(name)
    except EventUnavailable as reason:
        return Verdict(name, "", reason.support, reason.errno, advice=str(reason).removeprefix(f"{name}: "))
    return judge_event(event, own=own)


def judge_event(event: Event, *, own: bool) -> Verdict:
    """Open it for sampling, and for counting where that fails for another reason than a privilege."""
    code = probe(event, own=own)
    support = support_of(code)
    if not code:
        return Verdict(event.name, event.source, support)
    if support == capture_pb2.SUPPORT_UNSUPPORTED and not probe(event, own=own, sampling=False):
        return Verdict(event.name, event.source, support, code, counts_only=True, advice=_COUNT_IT)
    return Verdict(event.name, "", support, code, advice=_ADVICE[support])


def event_support(*, own: bool) -> list[capture_pb2.EventSupport]:
    """Every generic event, for Describe: some milliseconds at most, and nothing runs meanwhile."""
    return [judge(name, own=own).message() for name in GENERIC_NAMES]


def judge_all(names: Iterable[str], *, own: bool) -> list[Verdict]:
    """The verdicts for a person: of the named events, else of every generic one and the sockets' counters.

    What opens is also let run for a moment, because a hypervisor may grant counters that never count.
    """
    named = tuple(names)
    verdicts = [_run(name, own=own) for name in named or GENERIC_NAMES]
    if not named:
        beside = {event.name: event for group in memory_and_energy() for event in group}
        verdicts += [judge_event(event, own=own) for event in beside.values()]
    return verdicts


def table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Lines of text, columns aligned: event, verdict, what backs it, errno, what to do."""
    rows = [("event", "verdict", "source", "errno", "what to do")]
    for verdict in verdicts:
        said = capture_pb2.Support.Name(verdict.support).removeprefix("SUPPORT_").lower()
        rows.append(
            (
                verdict.name,
                "counts only" if verdict.counts_only else said,
                verdict.source or "-",
                errno.errorcode.get(verdict.errno, str(verdict.errno)) if verdict.errno else "-",
                verdict.advice,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[4]]).rstrip()


def _run(name: str, *, own: bool) -> Verdict:
    verdict = judge(name, own=own)
    if verdict.support != capture_pb2.SUPPORT_OK:
        return verdict
    event = find_event(name)
    if event.type in {EventType.SOFTWARE, EventType.TRACEPOINT} or _runs(event):
        return verdict
    never = capture_pb2.SUPPORT_NOT_COUNTED
    return Verdict(name, event.source, never, advice=_ADVICE[never])


def _runs(event: Event) -> bool:
    """Whether a counter is ever at work on this thread while it keeps a CPU busy for a moment."""
    attributes = event.attributes()
    attributes.flags = Flag.DISABLED | Flag.EXCLUDE_KERNEL
    attributes.read_format = ReadFormat.TOTAL_TIME_ENABLED | ReadFormat.TOTAL_TIME_RUNNING
    try:
        descriptor = open_event(attributes, pid=0, cpu=-1)
    except OSError:
        return True  # it opens on CPUs only: nothing is known against it
    try:
        ioctl(descriptor, IOC_ENABLE, 0)
        until = time.monotonic() + _SPIN_S
        while time.monotonic() < until:
            pass
        running: int = struct.unpack("<3Q", os.read(descriptor, 24))[2]
    finally:
        os.close(descriptor)
    return running > 0
