"""Samplers: one opened event, its rings, and its records in the order in which they happened.

`MachineSampler` sees everything on each CPU. `OwnSampler` is what kernel.perf_event_paranoid = 2 leaves to a
user without CAP_PERFMON: the threads of the user's own processes, without the kernel's part.
"""

import contextlib
import errno
import os
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fcntl import ioctl
from operator import itemgetter
from typing import Final, Self

from gateway.errors import EventUnavailable
from gateway.perf.attributes import (
    IOC_DISABLE,
    IOC_ENABLE,
    IOC_PERIOD,
    KERNEL_STACK_DEPTH,
    USER_REGISTERS,
    Attributes,
    Flag,
    ReadFormat,
    open_event,
)
from gateway.perf.events import NANOSECONDS, Event, support_of
from gateway.perf.records import FLAT, STACKS, Record, parse, time_of
from gateway.perf.ring import Ring

# At 99 Hz with 16 KiB stacks a busy CPU fills 1 MiB in 0.6 s and is drained every 0.25 s. 512 KiB is what the
# kernel lets anybody lock per CPU (kernel.perf_event_mlock_kb = 516) when RLIMIT_MEMLOCK grants nothing more.
RING_BYTES: Final = 1 << 20
SMALL_RING_BYTES: Final = 512 << 10
# At a higher rate 1 MiB is soon full: at 499 Hz in 0.12 s, and on a machine with more to run than CPUs the
# reader was seen to come 0.4 s late. So a ring holds a second, within these bounds of one and of all together.
_LARGEST_RING_BYTES: Final = 8 << 20
_ALL_RINGS_BYTES: Final = 64 << 20
_RING_HOLDS_S: Final = 1.0

# Besides the stack copy: header, registers, a kernel call chain of common depth.
_SAMPLE_OVERHEAD_BYTES: Final = 600
_LONGEST_WAIT_S: Final = 0.25
_SHORTEST_WAIT_S: Final = 0.01
_UNTIL_THE_END: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class Sampling:
    """What to record of an event: `period` in the event's unit, `stack_bytes` of user stack per sample."""

    event: Event
    period: int
    stacks: bool = True
    stack_bytes: int = 16384
    follow: bool = True
    """Also record forks, execs and mappings: wanted of one sampler among those that run together."""

    def attributes(self) -> Attributes:
        """The kernel's form. It starts disabled, by CLOCK_MONOTONIC, without idle time and without wakeups."""
        # PERF_SAMPLE_PERIOD must stay out: with it the kernel takes every software event, whatever the period.
        # attr.freq likewise: for software events it reaches a quarter of the rate that was asked for.
        attributes = Attributes(
            type=self.event.type,
            config=self.event.config,
            sample_period=self.period,
            sample_type=STACKS if self.stacks else FLAT,
            read_format=ReadFormat.LOST,
            wakeup_watermark=1 << 31,
            clockid=time.CLOCK_MONOTONIC,
        )
        flags = Flag.DISABLED | Flag.EXCLUDE_HV | Flag.EXCLUDE_IDLE | Flag.SAMPLE_ID_ALL | Flag.WATERMARK
        flags |= Flag.USE_CLOCKID
        if self.follow:
            flags |= Flag.TASK | Flag.COMM | Flag.COMM_EXEC | Flag.MMAP | Flag.MMAP2
        if self.stacks:
            # The kernel's own user chain follows frame pointers, which almost no program keeps.
            flags |= Flag.EXCLUDE_CALLCHAIN_USER
            attributes.sample_regs_user = USER_REGISTERS
            attributes.sample_stack_user = self.stack_bytes
            attributes.sample_max_stack = KERNEL_STACK_DEPTH
        attributes.flags = flags
        return attributes

    def wait(self, ring_bytes: int) -> float:
        """Seconds that a ring of a fully busy CPU may be left alone: at most half of it fills."""
        if not self.event.counts_time:
            return _LONGEST_WAIT_S / 2  # the rate of such an event is not known beforehand
        return min(_LONGEST_WAIT_S, max(_SHORTEST_WAIT_S, ring_bytes / 2 / self._bytes_per_second()))

    def ring_bytes(self, cpus: int) -> int:
        """Bytes of the ring of each of so many CPUs: a power of two, at least `RING_BYTES`."""
        if not self.event.counts_time:
            return RING_BYTES
        limit = min(_LARGEST_RING_BYTES, _ALL_RINGS_BYTES // cpus)
        size = RING_BYTES
        while size * 2 <= limit and size < self._bytes_per_second() * _RING_HOLDS_S:
            size *= 2
        return size

    def _bytes_per_second(self) -> float:
        """What a fully busy CPU writes, for an event that counts time."""
        sample = _SAMPLE_OVERHEAD_BYTES + (self.stack_bytes if self.stacks else 0)
        # Cycles pass at some GHz: the estimate of one unit per nanosecond is low by a factor of at most six.
        pace = 1.0 if self.event.unit == NANOSECONDS else 1 / 6
        return sample * 1e9 / (self.period * pace)


class Sampler(ABC):
    """An opened event with one ring per CPU. Use it as a context manager: it frees everything at the end."""

    def __init__(self, sampling: Sampling, cpus: Sequence[int]) -> None:
        self.sampling: Final = sampling
        self.cpus: Final = tuple(cpus)
        self._layout: Final = STACKS if sampling.stacks else FLAT
        self._rings: list[Ring] = []
        self._resources = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def descriptors(self) -> Iterable[int]:
        """Every open event."""

    @abstractmethod
    def lost(self) -> list[int]:
        """Samples that did not fit, per CPU in the order of `cpus`; empty before Linux 6.0."""

    def enable(self) -> None:
        """Start sampling on every CPU."""
        for descriptor in self.descriptors():
            ioctl(descriptor, IOC_ENABLE, 0)

    def disable(self) -> None:
        """Stop sampling; what is in the rings stays."""
        for descriptor in self.descriptors():
            ioctl(descriptor, IOC_DISABLE, 0)

    def set_period(self, period: int) -> None:
        """Sample every `period` units from now on; call it while disabled."""
        for descriptor in self.descriptors():
            ioctl(descriptor, IOC_PERIOD, struct.pack("=Q", period))

    def drain(self, consume: Callable[[Record], None], *, everything: bool = False) -> None:
        """Hand out all records in order of time across CPUs, and give back the space of each behind it.

        Records younger than this call stay for the next one, because a CPU that was looked at earlier may
        still write something older. `everything`: the event is disabled, nothing younger will come.
        """
        until = _UNTIL_THE_END if everything else time.monotonic_ns()
        batch: list[tuple[int, Ring, int, memoryview]] = []
        for ring in self._rings:
            latest = 0
            for position, record in ring.records():
                stamp = time_of(record)
                if stamp > until:
                    break
                # An interrupt may write its record before an older one that it interrupted. Within a ring
                # the order stays, because space is given back in that order.
                latest = max(latest, stamp)
                batch.append((latest, ring, position, record))
        batch.sort(key=itemgetter(0))
        for _, ring, position, record in batch:
            value = parse(record, self._layout)
            if value is not None:
                consume(value)
            ring.release(position)

    @property
    def wait_s(self) -> float:
        """Seconds to the next drain."""
        return self.sampling.wait(min((ring.data_bytes for ring in self._rings), default=RING_BYTES))

    @property
    def bytes_read(self) -> int:
        """Bytes of records handed out so far."""
        return sum(ring.tail for ring in self._rings)

    def close(self) -> None:
        """Unmap the rings and close the descriptors; may be called twice."""
        self._unmap()
        self._resources.close()

    def _map(self, descriptors: Sequence[int]) -> None:
        """Map a ring for each descriptor, all of one size: the largest that RLIMIT_MEMLOCK allows all of them.

        What the kernel lets a user lock is one sum over CPUs, so the first could leave nothing for the others.
        """
        size = self.sampling.ring_bytes(len(self.cpus))
        while True:
            try:
                for descriptor in descriptors:
                    self._rings.append(Ring(descriptor, size))
                break
            except PermissionError as error:
                self._unmap()
                if size <= SMALL_RING_BYTES:
                    raise EventUnavailable(
                        f"RLIMIT_MEMLOCK leaves no room for a ring of {SMALL_RING_BYTES >> 10} KiB per CPU; "
                        "grant CAP_IPC_LOCK or raise it (systemd: LimitMEMLOCK=infinity)",
                        support=support_of(errno.EPERM),
                        errno=errno.EPERM,
                    ) from error
                size //= 2

    def _unmap(self) -> None:
        while self._rings:
            self._rings.pop().close()

    def _open(self, attributes: Attributes, *, pid: int, cpu: int) -> int:
        """Open, without PERF_FORMAT_LOST where the kernel does not know it. Closed with the sampler."""
        try:
            descriptor = open_event(attributes, pid=pid, cpu=cpu)
        except OSError as error:
            if error.errno != errno.EINVAL or not attributes.read_format:
                raise
            attributes.read_format = 0
            descriptor = open_event(attributes, pid=pid, cpu=cpu)
        self._resources.callback(os.close, descriptor)
        return descriptor


class MachineSampler(Sampler):
    """Everything that runs on the given CPUs: needs CAP_PERFMON, or kernel.perf_event_paranoid ≤ 0."""

    def __init__(self, sampling: Sampling, cpus: Sequence[int]) -> None:
        """Open and map; raises EventUnavailable with nothing left open."""
        super().__init__(sampling, cpus)
        self._attributes = sampling.attributes()
        self._events: list[int] = []
        try:
            for cpu in self.cpus:
                self._events.append(self._open(self._attributes, pid=-1, cpu=cpu))
            self._map(self._events)
        except OSError as error:
            self.close()
            raise unavailable(sampling.event, error.errno or errno.EINVAL) from error
        except EventUnavailable:
            self.close()
            raise

    def descriptors(self) -> Iterable[int]:
        """One per CPU."""
        return self._events

    def lost(self) -> list[int]:
        """By PERF_FORMAT_LOST: a LOST record alone is only written before the next record that fits."""
        if not self._attributes.read_format:
            return []
        return [read_lost(descriptor) for descriptor in self._events]


def read_lost(descriptor: int) -> int:
    """The kernel's count of what did not fit, of an event opened with read_format LOST alone."""
    lost: int = struct.unpack("<QQ", os.read(descriptor, 16))[1]
    return lost


def unavailable(event: Event, code: int) -> EventUnavailable:
    """The error for an event that the kernel refused with this errno."""
    return EventUnavailable(
        f"{event.name} cannot be sampled here: {event.source}: {os.strerror(code)}",
        support=support_of(code),
        errno=code,
    )
