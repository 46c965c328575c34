"""Counters read over the window, in groups that the kernel schedules together.

A counter that cannot be had is an entry with its status, never a 0: cycles of 0 would be an answer. Where
groups share the hardware (multiplexing) the raw reading and both times are given, nothing is scaled here.
"""

from __future__ import annotations

import errno
import os
import struct
from dataclasses import dataclass
from fcntl import ioctl
from typing import TYPE_CHECKING, Final, Self

from fleetpb import capture_pb2
from gateway.perf.attributes import (
    IOC_ENABLE,
    Attributes,
    Flag,
    ReadFormat,
    open_event,
)
from gateway.perf.events import EVENTS, support_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Pairs that are divided by each other are counted together; the software group works on every machine.
GROUPS: Final = (
    ("cycles", "instructions"),
    ("llc-references", "llc-misses"),
    ("branches", "branch-misses"),
    ("l1d-misses", "dtlb-misses"),
    ("page-faults", "context-switches", "cpu-migrations"),
)
_WHOLE_MACHINE: Final = -1
_READ_FORMAT: Final = ReadFormat.GROUP | ReadFormat.TOTAL_TIME_ENABLED | ReadFormat.TOTAL_TIME_RUNNING


@dataclass(frozen=True, slots=True)
class _Group:
    cpu: int
    names: tuple[str, ...]
    descriptors: tuple[int, ...]


class Counters:
    """Open counters of a window. A context manager: it counts from entry, and closes all at the end."""

    def __init__(self, cpus: Sequence[int]) -> None:
        self._cpus: Final = tuple(cpus)
        self._groups: list[_Group] = []
        self._failed: list[tuple[str, int]] = []

    def __enter__(self) -> Self:
        try:
            for names in GROUPS:
                self._open(names)
            for group in self._groups:
                ioctl(group.descriptors[0], IOC_ENABLE, 0)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, text: Callable[[str], int]) -> list[capture_pb2.CounterGroup]:
        """The readings so far; `text` gives the string index of a name."""
        groups = [self._read(group, text) for group in self._groups]
        if self._failed:
            failed = capture_pb2.CounterGroup(cpu=_WHOLE_MACHINE)
            for name, code in self._failed:
                failed.counters.add(name=text(name), support=support_of(code), errno=code)
            groups.append(failed)
        return groups

    def close(self) -> None:
        """Give the counters back; may be called twice."""
        for group in self._groups:
            for descriptor in group.descriptors:
                os.close(descriptor)
        self._groups.clear()

    def _open(self, names: tuple[str, ...]) -> None:
        """Open a group on every CPU, without those members that this machine does not have."""
        wanted = names
        for cpu in self._cpus:
            opened: list[tuple[str, int]] = []
            for name in wanted:
                event = EVENTS[name]
                attributes = Attributes(type=event.type, config=event.config, read_format=_READ_FORMAT)
                attributes.flags = Flag.EXCLUDE_HV | (0 if opened else Flag.DISABLED)
                try:
                    descriptor = open_event(attributes, pid=-1, cpu=cpu, group=opened[0][1] if opened else -1)
                except OSError as error:
                    if cpu == self._cpus[0]:
                        self._failed.append((name, error.errno or errno.EINVAL))
                        wanted = tuple(other for other in wanted if other != name)
                    continue
                opened.append((name, descriptor))
            if opened:
                self._groups.append(
                    _Group(cpu, tuple(name for name, _ in opened), tuple(number for _, number in opened))
                )

    def _read(self, group: _Group, text: Callable[[str], int]) -> capture_pb2.CounterGroup:
        count = len(group.names)
        read = os.read(group.descriptors[0], 8 * (3 + count))
        _, enabled, running, *values = struct.unpack(f"<{3 + count}Q", read)
        reading = capture_pb2.CounterGroup(cpu=group.cpu, time_enabled_ns=enabled, time_running_ns=running)
        for name, value in zip(group.names, values, strict=True):
            if running:
                reading.counters.add(name=text(name), support=capture_pb2.SUPPORT_OK, value=value)
            else:
                reading.counters.add(name=text(name), support=capture_pb2.SUPPORT_NOT_COUNTED)
        return reading
