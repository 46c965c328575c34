"""Samplers: one opened event, its rings, and its records in order of time.

`MachineSampler` samples everything on each CPU. `ThreadSampler` samples chosen threads: those of one program, or what
kernel.perf_event_paranoid = 2 permits a user without CAP_PERFMON, the user's own processes without kernel samples.
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
from typing import Final, Protocol, Self

from gateway.errors import EventUnavailable
from gateway.perf.attributes import (
    IOC_DISABLE,
    IOC_ENABLE,
    IOC_ID,
    IOC_PERIOD,
    IOC_SET_BPF,
    IOC_SET_OUTPUT,
    KERNEL_STACK_DEPTH,
    SOFTWARE_BPF_OUTPUT,
    USER_REGISTERS,
    Attributes,
    EventType,
    Flag,
    ReadFormat,
    open_event,
)
from gateway.perf.events import NANOSECONDS, Event, support_of, unavailable
from gateway.perf.records import (
    FLAT,
    OUTPUT,
    STACKS,
    Output,
    Record,
    Sample,
    identifier_of,
    parse,
    parse_output,
    time_of,
)
from gateway.perf.ring import Ring

# At 99 Hz with 16 KiB stacks a busy CPU fills 1 MiB in 0.6 s: it is drained every 0.3 s, one of 2 MiB every 0.5 s.
# 512 KiB is what the kernel lets every user lock per CPU (kernel.perf_event_mlock_kb = 516) if RLIMIT_MEMLOCK grants
# nothing more.
RING_BYTES: Final = 1 << 20
SMALL_RING_BYTES: Final = 512 << 10
_FLAT_RING_BYTES: Final = 64 << 10
# At a higher rate 1 MiB fills up faster: at 499 Hz in 0.12 s, and on an overloaded machine the reader was seen to be
# 0.4 s late. So a ring holds a second of samples, within limits for one ring and for all rings of a capture.
_LARGEST_RING_BYTES: Final = 8 << 20
_ALL_RINGS_BYTES: Final = 64 << 20
_RING_HOLDS_S: Final = 1.0
# How late the reader may be before samples are lost, if the ring is large enough.
_MAX_DELAY_S: Final = 0.75

# Besides the stack copy: header, registers, a kernel call chain of common depth.
_SAMPLE_OVERHEAD_BYTES: Final = 600
# Between drains other programs use the caches, so each drain first fetches some MiB of the interpreter and its tables
# again. The cost of twice as many drains was estimated, not measured.
_MAX_WAIT_S: Final = 0.5
_MIN_WAIT_S: Final = 0.01
# For an event of unknown rate: at worst a burst overflows between two drains.
_FIRST_WAIT_S: Final = 0.02
_TIMES: Final = ReadFormat.TOTAL_TIME_ENABLED | ReadFormat.TOTAL_TIME_RUNNING
_NO_WAKEUP: Final = 1 << 63


def max_ring_bytes(cpus: int) -> int:
    """Memory limit for all rings of one capture on so many CPUs.

    Two small rings a CPU are always granted. CAP_IPC_LOCK lifts the kernel's own limit, so this is the only one.
    """
    return max(_ALL_RINGS_BYTES, 2 * SMALL_RING_BYTES * cpus)


@dataclass(frozen=True, slots=True)
class Sampling:
    """What to record of an event: `period` in the event's unit, `stack_bytes` of user stack per sample."""

    event: Event
    period: int
    stacks: bool = True
    stack_bytes: int = 16384
    follow: bool = True
    """Also record forks, execs and mappings: needed from one of several concurrent samplers."""
    together: int = 1
    """Number of concurrent samplers; each has its own rings."""

    def attributes(self) -> Attributes:
        """The kernel's form. The event starts disabled, uses CLOCK_MONOTONIC, excludes idle time, causes no wakeups."""
        # Without PERF_SAMPLE_PERIOD: with it the kernel samples every software event, whatever the period.
        # Without attr.freq: for software events it reaches a quarter of the requested rate.
        attributes = self.event.attributes()
        attributes.sample_period = self.period
        attributes.sample_type = STACKS if self.stacks else FLAT
        attributes.read_format = _TIMES | ReadFormat.LOST
        attributes.wakeup_watermark = 1 << 31
        attributes.clockid = time.CLOCK_MONOTONIC
        flags = Flag.DISABLED | Flag.SAMPLE_ID_ALL | Flag.WATERMARK | Flag.USE_CLOCKID
        if self.event.type <= EventType.RAW:
            # Other event sources refuse every event with an exclude flag.
            flags |= Flag.EXCLUDE_HV | Flag.EXCLUDE_IDLE
        if self.follow:
            flags |= Flag.TASK | Flag.COMM | Flag.COMM_EXEC | Flag.MMAP | Flag.MMAP2
        if self.stacks:
            # The kernel's own user call chain follows frame pointers, which almost no program keeps.
            flags |= Flag.EXCLUDE_CALLCHAIN_USER
            attributes.sample_regs_user = USER_REGISTERS
            attributes.sample_stack_user = self.stack_bytes
            attributes.sample_max_stack = KERNEL_STACK_DEPTH
        attributes.flags = flags
        return attributes

    def wait(self, ring_bytes: int, seen_bytes_per_s: float | None) -> float:
        """Seconds until the next drain: on a fully busy CPU at most half of the ring fills.

        More than a quarter fills only if the rest still holds `_MAX_DELAY_S`. The rate of an event that does not
        count time is unknown in advance: then the bytes per second `seen` in the fullest ring decide; None before
        the first drain.
        """
        if self.event.counts_time:
            holds_s = ring_bytes / self._bytes_per_second()
            wait_s = min(_MAX_WAIT_S, holds_s / 2, max(holds_s / 4, holds_s - _MAX_DELAY_S))
        elif seen_bytes_per_s is None:
            return _FIRST_WAIT_S
        else:
            wait_s = min(_MAX_WAIT_S / 4, ring_bytes / 2 / max(1.0, seen_bytes_per_s))
        return max(_MIN_WAIT_S, wait_s)

    def ring_bytes(self, cpus: int) -> int:
        """Bytes of the ring of each of so many CPUs: a power of two.

        A single sampler's ring has at least `RING_BYTES`. Several share `max_ring_bytes`, down to a size that holds
        thirty stacks or a thousand leaves; limits.py runs no more together than fit.
        """
        limit = min(_LARGEST_RING_BYTES, max_ring_bytes(cpus) // cpus // self.together)
        size = RING_BYTES
        if self.event.counts_time:
            while size * 2 <= limit and size < self._bytes_per_second() * _RING_HOLDS_S:
                size *= 2
        least = RING_BYTES if self.together == 1 else SMALL_RING_BYTES if self.stacks else _FLAT_RING_BYTES
        while size > max(least, limit):
            size //= 2
        return size

    def _bytes_per_second(self) -> float:
        """Bytes per second of a fully busy CPU, for an event that counts time."""
        sample = _SAMPLE_OVERHEAD_BYTES + (self.stack_bytes if self.stacks else 0)
        # Cycles pass at some GHz: the estimate of one unit per nanosecond is too low by at most a factor of six.
        pace = 1.0 if self.event.unit == NANOSECONDS else 1 / 6
        return sample * 1e9 / (self.period * pace)


class Program(Protocol):
    """A loaded BPF program that writes records about the current thread right before each sample."""

    @property
    def descriptor(self) -> int:
        """Of the program."""

    def set_output(self, cpu: int, descriptor: int) -> None:
        """Use an opened output event for what it writes on a CPU. Raises OSError."""

    def clear_output(self, cpu: int) -> None:
        """Let go of the event."""

    def release(self) -> None:
        """The sampler has ended."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The kernel's totals of an event since it was opened.

    `lost`: lost samples per CPU; empty before Linux 6.0. Both times are in ns over all CPUs: enabled, and actually
    counting, which is less if several hardware events take turns on the counters.
    """

    lost: tuple[int, ...] = ()
    enabled_ns: int = 0
    running_ns: int = 0

    def since(self, earlier: "Totals") -> "Totals":
        """The difference of two readings."""
        before = earlier.lost or (0,) * len(self.lost)
        return Totals(
            tuple(now - then for now, then in zip(self.lost, before, strict=True)),
            self.enabled_ns - earlier.enabled_ns,
            self.running_ns - earlier.running_ns,
        )


class Sampler(ABC):
    """An opened event with one ring per CPU. A context manager: it frees everything at the end."""

    def __init__(self, sampling: Sampling, cpus: Sequence[int], program: Program | None = None) -> None:
        """`program` runs at each sample; it is released with the sampler."""
        self.sampling: Final = sampling
        self.cpus: Final = tuple(cpus)
        self._layout: Final = STACKS if sampling.stacks else FLAT
        self._rings: list[Ring] = []
        self._resources = contextlib.ExitStack()
        self._seen: list[int] = []
        self._rate_at = 0.0
        self._bytes_per_s: float | None = None
        self._output_events: frozenset[int] = frozenset()
        """Identifiers of the events through which a BPF program writes into the rings."""
        self.program_refused = ""
        """Why the BPF program of this sampler does not run; empty: it runs, or there is none."""
        self._program = program
        if program is not None:
            self._resources.callback(program.release)
        self._written: dict[Ring, list[Output]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def descriptors(self) -> Iterable[int]:
        """Every open event."""

    @abstractmethod
    def totals(self) -> Totals:
        """The kernel's totals of the event so far, `lost` in the order of `cpus`."""

    def enable(self) -> None:
        """Start sampling on every CPU."""
        for descriptor in self.descriptors():
            ioctl(descriptor, IOC_ENABLE, 0)

    def disable(self) -> None:
        """Stop sampling; records in the rings stay."""
        for descriptor in self.descriptors():
            ioctl(descriptor, IOC_DISABLE, 0)

    def set_period(self, period: int) -> None:
        """Sample every `period` units from now on; call it while disabled."""
        for descriptor in self.descriptors():
            ioctl(descriptor, IOC_PERIOD, struct.pack("=Q", period))

    def drain(self, consume: Callable[[Record], None], *, everything: bool = False) -> None:
        """Pass all records to `consume` in order of time across CPUs, and free the space of each.

        Records younger than this call stay for the next one, because a CPU whose ring was read earlier may still
        write an older one. `everything`: the event is disabled, so no younger record will come.
        """
        until = _NO_WAKEUP if everything else time.monotonic_ns()
        batch: list[tuple[int, Ring, int, memoryview]] = []
        for ring in self._rings:
            latest = 0
            for position, record in ring.records():
                stamp = time_of(record)
                if stamp > until:
                    break
                # An interrupt may write its record before the older one that it interrupted. Within a ring the
                # order is kept, because space is freed in that order.
                latest = max(latest, stamp)
                batch.append((latest, ring, position, record))
        batch.sort(key=itemgetter(0))
        output_events, written = self._output_events, self._written
        for _, ring, position, record in batch:
            if output_events and identifier_of(record) in output_events:
                if (made := parse_output(record)) is not None:
                    written.setdefault(ring, []).append(made)
            elif (value := parse(record, self._layout)) is not None:
                if written and isinstance(value, Sample) and (its := written.pop(ring, None)):
                    value = value._replace(outputs=tuple(its))
                consume(value)
            ring.release(position)
        self._update_rate(time.monotonic())

    def _update_rate(self, now: float) -> None:
        read = [ring.tail for ring in self._rings]
        if self._seen and now > self._rate_at:
            fullest = max(after - before for after, before in zip(read, self._seen, strict=True))
            self._bytes_per_s = fullest / (now - self._rate_at)
        self._seen, self._rate_at = read, now

    @property
    def has_program(self) -> bool:
        """Whether a BPF program writes records before the samples."""
        return self._program is not None

    @property
    def wait_s(self) -> float:
        """Seconds to the next drain."""
        smallest = min((ring.data_bytes for ring in self._rings), default=RING_BYTES)
        return self.sampling.wait(smallest, self._bytes_per_s)

    @property
    def bytes_read(self) -> int:
        """Bytes of records consumed so far."""
        return sum(ring.tail for ring in self._rings)

    def close(self) -> None:
        """Unmap the rings and close the descriptors; may be called twice."""
        self._unmap()
        self._resources.close()

    def _map(self, descriptors: Sequence[int]) -> None:
        """Map a ring for each descriptor, all of the largest size that RLIMIT_MEMLOCK allows for all of them.

        The limit applies to the sum over CPUs, so the first ring could leave nothing for the others.
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
                        f"RLIMIT_MEMLOCK is too low for a ring of {SMALL_RING_BYTES >> 10} KiB per "
                        "CPU; grant CAP_IPC_LOCK or raise it (systemd: LimitMEMLOCK=infinity)",
                        support=support_of(errno.EPERM),
                        errno=errno.EPERM,
                    ) from error
                size //= 2

    def _unmap(self) -> None:
        while self._rings:
            self._rings.pop().close()

    def _open(self, attributes: Attributes, *, pid: int, cpu: int) -> int:
        """Open, without PERF_FORMAT_LOST if the kernel does not know it. Closed with the sampler."""
        try:
            descriptor = open_event(attributes, pid=pid, cpu=cpu)
        except OSError as error:
            if error.errno != errno.EINVAL or not attributes.read_format & ReadFormat.LOST:
                raise
            attributes.read_format &= ~ReadFormat.LOST
            descriptor = open_event(attributes, pid=pid, cpu=cpu)
        self._resources.callback(os.close, descriptor)
        return descriptor

    def _open_program_outputs(self, rings: Sequence[int], sampled: Attributes) -> None:
        """Open the program's output event for each CPU; its records go to the ring of the event in `rings`."""
        if self._program is not None:
            try:
                self._output_events = self._opened_outputs(self._program, rings, sampled)
            except OSError as error:
                self._refuse_program(error)

    def _attach_program(self, event: int) -> None:
        """Run the program at the samples of an opened event."""
        if self._program is not None:
            try:
                ioctl(event, IOC_SET_BPF, self._program.descriptor)
            except OSError as error:
                self._refuse_program(error)

    def _refuse_program(self, error: OSError) -> None:
        """Sample without it. Where it is attached already, its records are still recognized."""
        self.program_refused = f"{error.strerror}"
        self._program = None

    def _opened_outputs(self, program: Program, rings: Sequence[int], sampled: Attributes) -> frozenset[int]:
        """Identifiers of the events that bpf_perf_event_output writes to. Raises OSError.

        All events of a ring must use the same clock.
        """
        identifiers = set()
        for cpu, ring in zip(self.cpus, rings, strict=True):
            attributes = Attributes(
                type=EventType.SOFTWARE,
                config=SOFTWARE_BPF_OUTPUT,
                sample_period=1,
                sample_type=OUTPUT,
                flags=Flag.SAMPLE_ID_ALL | Flag.WATERMARK | Flag.USE_CLOCKID,
                wakeup_watermark=sampled.wakeup_watermark,
                clockid=sampled.clockid,
            )
            output = self._open(attributes, pid=-1, cpu=cpu)
            ioctl(output, IOC_SET_OUTPUT, ring)
            program.set_output(cpu, output)
            self._resources.callback(program.clear_output, cpu)
            identifiers.add(_identifier(output))
        return frozenset(identifiers)


class MachineSampler(Sampler):
    """Samples everything on the given CPUs: needs CAP_PERFMON, or kernel.perf_event_paranoid ≤ 0."""

    def __init__(self, sampling: Sampling, cpus: Sequence[int], program: Program | None = None) -> None:
        """Open and map; raises EventUnavailable with nothing left open. `program` runs at each sample."""
        super().__init__(sampling, cpus, program)
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
        self._open_program_outputs(self._events, self._attributes)
        for event in self._events:
            self._attach_program(event)

    def descriptors(self) -> Iterable[int]:
        """One per CPU."""
        return self._events

    def totals(self) -> Totals:
        """One read a CPU."""
        readings = [read_totals(descriptor) for descriptor in self._events]
        return Totals(
            tuple(lost for one in readings for lost in one.lost),
            sum(one.enabled_ns for one in readings),
            sum(one.running_ns for one in readings),
        )


def _identifier(descriptor: int) -> int:
    """The number by which samples name their event (PERF_SAMPLE_IDENTIFIER)."""
    buffer = bytearray(8)
    ioctl(descriptor, IOC_ID, buffer)
    return int.from_bytes(buffer, "little")


def read_totals(descriptor: int) -> Totals:
    """Read the totals of one event, opened with both times and, if supported, PERF_FORMAT_LOST as read_format.

    A LOST record alone does not suffice: it is written only before the next record that fits.
    """
    read = os.read(descriptor, 32)
    _, enabled, running, *lost = struct.unpack(f"<{len(read) // 8}Q", read)
    return Totals(tuple(lost), enabled, running)
