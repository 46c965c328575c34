"""Counters over the capture's window, in groups that the kernel schedules together.

- Counters that are divided by each other form one group: they count at the same moments, however many take turns.
- A group that exceeds the hardware's counters is split.
- An unavailable counter is an entry with its status, never a 0: 0 cycles would be a measurement. If one fails on a
  CPU, its readings of other CPUs are dropped too, because their sum would look like the machine's.
- Of groups that took turns, the raw reading and both times are reported; value × enabled / running estimates the whole.
  Nothing is scaled here.
"""

from __future__ import annotations

import errno
import os
import struct
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from fleetpb import capture_pb2
from gateway.perf.attributes import EventType, Flag, ReadFormat
from gateway.perf.events import COUNT, Event, support_of
from gateway.perf.kernel_interface import PerfEvents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gateway.perf.kernel_interface import Kernel

WHOLE_MACHINE: Final = -1
# Above this a group would have been enabled before it was opened.
_CLOCK_TOLERANCE_NS: Final = 60 * 1_000_000_000
_READ_FORMAT: Final = ReadFormat.GROUP | ReadFormat.TOTAL_TIME_ENABLED | ReadFormat.TOTAL_TIME_RUNNING


@dataclass(frozen=True, slots=True)
class CounterScope:
    """Scope of a group: a CPU; a socket, by one of its CPUs; or a control group, on each CPU."""

    cpu: int = WHOLE_MACHINE
    package: int = -1
    cgroup: str = ""


class Reading(NamedTuple):
    """One reading of a group: values in the order of its events, both times in ns since it was opened."""

    enabled: int
    running: int
    values: tuple[int, ...]


@dataclass(slots=True)
class _Group:
    place: CounterScope
    events: tuple[Event, ...]
    descriptors: tuple[int, ...]
    pid: int
    cpu: int
    missed_ns: int = 0
    """Time in which its events were enabled but never ran, in the group that it was split from."""
    opened_ns: int = field(default_factory=time.monotonic_ns)

    def read(self, kernel: Kernel) -> Reading:
        count = len(self.events)
        read = kernel.read(self.descriptors[0], 8 * (3 + count))
        _, enabled, running, *values = struct.unpack(f"<{3 + count}Q", read)
        age = time.monotonic_ns() - self.opened_ns
        if enabled > age + _CLOCK_TOLERANCE_NS:
            # The kernel sometimes counts both times of a control group from boot: seen on 6.18, 44,305 s in a
            # window of 2 s, with a correct value.
            enabled, running = age, max(0, running - (enabled - age))
        return Reading(self.missed_ns + enabled, running, tuple(values))


class Counters:
    """Open counters of a window. A context manager that closes all of them."""

    def __init__(self, kernel: Kernel | None = None, most: int | None = None) -> None:
        """`most`: limit of open descriptors; a group above it is refused on all CPUs. None: no limit."""
        self._kernel: Final = kernel or PerfEvents()
        self._most: Final = most
        self._groups: list[_Group] = []
        # Keys: name, CPU and control group.
        self._refused: dict[tuple[str, int, str], int] = {}
        self._cgroups: list[int] = []
        self.opened = 0
        """Descriptors opened so far; the cost of opening and reading grows with it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def held(self) -> int:
        """Descriptors open now."""
        return sum(len(group.descriptors) for group in self._groups) + len(self._cgroups)

    def close(self) -> None:
        """Close all counters; may be called twice."""
        for group in self._groups:
            for descriptor in group.descriptors:
                self._kernel.close(descriptor)
        self._groups.clear()
        while self._cgroups:
            os.close(self._cgroups.pop())

    def count_cpus(self, events: Sequence[Event], cpus: Sequence[int]) -> None:
        """Count a group on every CPU, without the members that this machine lacks."""
        if self._has_room(events, len(cpus), ""):
            for cpu in cpus:
                self._count(events, CounterScope(cpu=cpu), pid=-1, cpu=cpu)

    def count_packages(self, events: Sequence[Event], package_of: Callable[[int], int]) -> None:
        """Count a group of per-socket events on the CPUs that their source names."""
        cpus = events[0].cpus or ()
        for cpu in cpus if self._has_room(events, len(cpus), "") else ():
            self._count(events, CounterScope(package=package_of(cpu)), pid=-1, cpu=cpu)

    def count_cgroup(self, events: Sequence[Event], cpus: Sequence[int], path: str, descriptor: int) -> None:
        """Count a group on every CPU while a task of the control group runs there. Closes the descriptor."""
        self._cgroups.append(descriptor)
        for cpu in cpus if self._has_room(events, len(cpus), path) else ():
            self._count(events, CounterScope(cgroup=path), pid=descriptor, cpu=cpu)

    def refuse(self, name: str, code: int) -> None:
        """Report a counter that was not opened."""
        self._refused.setdefault((name, WHOLE_MACHINE, ""), code)

    def split_idle(self) -> int:
        """Split each group that was enabled and has never run; returns their number.

        The kernel opens a group that fits into the counters; if the watchdog or a hypervisor holds one of them, the
        group never runs. Call it once, some tenths of a second after opening. The group's enabled time is added to
        that of its parts, so that all events are scaled to the same stretch.
        """
        stuck = []
        for group in self._groups:
            if len(group.events) > 1:
                reading = group.read(self._kernel)
                if reading.enabled and not reading.running:
                    stuck.append((group, reading.enabled))
        for group, missed_ns in stuck:
            self._groups.remove(group)
            for descriptor in group.descriptors:
                self._kernel.close(descriptor)
            for event in group.events:
                self._count((event,), group.place, pid=group.pid, cpu=group.cpu, missed_ns=missed_ns)
        return len(stuck)

    def readings(self) -> Iterator[tuple[CounterScope, tuple[Event, ...], Reading]]:
        """The readings of each scope's groups so far.

        The parts of a socket or a control group are summed if they counted all the time. If they took turns, each
        part is reported, because each has its own share of the time.
        """
        parts: defaultdict[tuple[CounterScope, tuple[str, ...]], list[tuple[_Group, Reading]]] = defaultdict(
            list
        )
        for group in self._groups:
            names = tuple(event.name for event in group.events)
            parts[group.place, names].append((group, group.read(self._kernel)))
        for (place, _), several in parts.items():
            whole = [(group, one) for group, one in several if one.enabled == one.running]
            # A control group that never ran on a CPU has no time there; that is not a failure.
            counted = [(group, one) for group, one in whole if one.running]
            if not counted and len(whole) == len(several):
                counted = whole[:1]
            if counted:
                yield place, counted[0][0].events, _sum([one for _, one in counted])
            for group, one in several:
                if one.enabled != one.running:
                    yield place, group.events, one

    def read(self, text: Callable[[str], int]) -> list[capture_pb2.CounterGroup]:
        """The readings and refusals so far; `text` gives the string index of a name."""
        groups = []
        for place, events, reading in self.readings():
            answered = [
                number
                for number, event in enumerate(events)
                if not self._mark_failed(event.name, place.cgroup)
            ]
            if answered:
                values = tuple(reading.values[number] for number in answered)
                groups.append(
                    _message(
                        place, [events[number] for number in answered], reading._replace(values=values), text
                    )
                )
        failed: dict[tuple[int, str], capture_pb2.CounterGroup] = {}
        for (name, cpu, path), code in self._refused.items():
            if cpu != WHOLE_MACHINE and self._mark_failed(name, path):
                continue
            group = failed.get((cpu, path))
            if group is None:
                group = failed[cpu, path] = capture_pb2.CounterGroup(
                    cpu=cpu, cgroup=text(path) if path else 0
                )
            group.counters.add(name=text(name), support=support_of(code or errno.ENOENT), errno=code)
        return groups + list(failed.values())

    def _mark_failed(self, name: str, cgroup: str) -> bool:
        """Whether the event failed on one of the CPUs for a reason other than a busy counter."""
        return (name, WHOLE_MACHINE, cgroup) in self._refused

    def _has_room(self, events: Sequence[Event], cpus: int, cgroup: str) -> bool:
        """Whether that many descriptors may be open. Counting some of the CPUs would give a wrong sum."""
        wanted = [event.name for event in events if not self._mark_failed(event.name, "")]
        if self._most is None or self.held + len(wanted) * cpus <= self._most:
            return True
        for name in wanted:
            self._refused[name, WHOLE_MACHINE, cgroup] = errno.EMFILE
        return False

    def _count(
        self, events: Sequence[Event], place: CounterScope, *, pid: int, cpu: int, missed_ns: int = 0
    ) -> None:
        together: list[tuple[Event, int]] = []
        alone: list[tuple[Event, int]] = []
        for event in events:
            if self._mark_failed(event.name, "") or self._mark_failed(event.name, place.cgroup):
                continue
            try:
                leader = together[0][1] if together else -1
                together.append((event, self._open(event, pid, cpu, leader, place)))
            except OSError as error:
                code = error.errno or errno.EINVAL
                if together and code == errno.EINVAL:
                    # The event may not fit next to the others.
                    try:
                        alone.append((event, self._open(event, pid, cpu, -1, place)))
                        continue
                    except OSError as second:
                        code = second.errno or errno.EINVAL
                self._note(event.name, place, cpu, code)
        for group in ([together] if together else []) + [[one] for one in alone]:
            self._start(group, place, pid, cpu, missed_ns)

    def _start(
        self, opened: list[tuple[Event, int]], place: CounterScope, pid: int, cpu: int, missed_ns: int
    ) -> None:
        events, descriptors = zip(*opened, strict=True)
        self._groups.append(_Group(place, events, descriptors, pid, cpu, missed_ns))
        self._kernel.enable(descriptors[0])

    def _open(self, event: Event, pid: int, cpu: int, leader: int, place: CounterScope) -> int:
        attributes = event.attributes()
        attributes.read_format = _READ_FORMAT
        attributes.flags = Flag.DISABLED if leader < 0 else 0
        descriptor = self._kernel.open(
            attributes, pid=pid, cpu=cpu, group=leader, in_cgroup=bool(place.cgroup)
        )
        self.opened += 1
        return descriptor

    def _note(self, name: str, place: CounterScope, cpu: int, code: int) -> None:
        """Record a failure. An event that the first CPU lacks is missing on all; a busy one may be free on the next."""
        if support_of(code) == capture_pb2.SUPPORT_BUSY and not place.cgroup:
            self._refused[name, cpu, ""] = code
        else:
            self._refused[name, WHOLE_MACHINE, place.cgroup] = code


def _sum(readings: Sequence[Reading]) -> Reading:
    values = tuple(map(sum, zip(*(one.values for one in readings), strict=True)))
    return Reading(sum(one.enabled for one in readings), sum(one.running for one in readings), values)


def _message(
    place: CounterScope, events: Sequence[Event], reading: Reading, text: Callable[[str], int]
) -> capture_pb2.CounterGroup:
    message = capture_pb2.CounterGroup(
        cpu=place.cpu,
        package=place.package + 1,
        cgroup=text(place.cgroup) if place.cgroup else 0,
        time_enabled_ns=reading.enabled,
        time_running_ns=reading.running,
    )
    for event, value in zip(events, reading.values, strict=True):
        counter = message.counters.add(name=text(event.name))
        if event.unit != COUNT:
            counter.unit = text(event.unit)
        if event.scale != 1.0:
            counter.scale = event.scale
        if event.type > EventType.CACHE or event.type == EventType.TRACEPOINT:
            counter.source = text(event.source)
        if reading.running:
            counter.support, counter.value = capture_pb2.SUPPORT_OK, value
        else:
            counter.support = capture_pb2.SUPPORT_NOT_COUNTED
    return message
