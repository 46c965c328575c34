"""Sampling of chosen threads: those of one user, or of one program.

A pid in perf_event_open(2) is one thread, so there is one event per thread and CPU. All events of a CPU share one ring
(PERF_EVENT_IOC_SET_OUTPUT): with a ring each, a few dozen threads would exceed the limit on locked memory. The kernel
extends the events to threads and processes that a sampled thread starts; a rescan finds the others.
"""

import errno
import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from fcntl import ioctl
from typing import Final

from gateway.errors import EventUnavailable
from gateway.perf.attributes import (
    IOC_ENABLE,
    IOC_SET_OUTPUT,
    SOFTWARE_DUMMY,
    Attributes,
    EventType,
    Flag,
    ReadFormat,
)
from gateway.perf.descriptors import raise_descriptor_limit
from gateway.perf.events import probe, unavailable
from gateway.perf.records import Exited, Forked, Record
from gateway.perf.sampler import Program, Sampler, Sampling, Totals, read_totals

# Descriptors left for sockets, images and the rest of the process.
_SPARE_DESCRIPTORS: Final = 200
# The thread has ended, or belongs to another user.
_SKIPPED: Final = frozenset({errno.ESRCH, errno.EACCES, errno.EPERM})


class ThreadSampler(Sampler):
    """Samples the threads that `threads` lists, and those that they start."""

    def __init__(
        self,
        sampling: Sampling,
        cpus: Sequence[int],
        threads: Callable[[], Iterator[int]],
        *,
        user_only: bool,
        program: Program | None = None,
    ) -> None:
        """Open a ring per CPU and all current threads; raises EventUnavailable with nothing left open.

        `threads` yields the current thread ids, at the start and at each rescan. `user_only` leaves out kernel code,
        which needs CAP_PERFMON. `program` runs at each sample.
        """
        # Refused for every thread, it would look like other users' threads, which are skipped.
        if code := probe(sampling.event, own=user_only):
            raise unavailable(sampling.event, code)
        super().__init__(sampling, cpus, program)
        self._threads = threads
        self._attributes = sampling.attributes()
        self._attributes.flags |= Flag.INHERIT
        if user_only:
            self._attributes.flags |= Flag.EXCLUDE_CALLCHAIN_KERNEL
        if user_only and not sampling.event.in_kernel:
            # An event that happens only in the kernel would open and show 0 samples. Let the kernel refuse it
            # instead, or grant it if kernel.perf_event_paranoid is 1.
            self._attributes.flags |= Flag.EXCLUDE_KERNEL
        self._outputs: dict[int, int] = {}
        self._events: list[tuple[int, int]] = []
        self._known: set[int] = set()
        self._enabled = False
        self.left_out = 0
        raise_descriptor_limit()
        try:
            for cpu in self.cpus:
                self._outputs[cpu] = self._open(self._output_attributes(), pid=0, cpu=cpu)
            self._map(list(self._outputs.values()))
            self._open_program_outputs(list(self._outputs.values()), self._attributes)
            self._add(list(self._threads()))
        except OSError as error:
            self.close()
            raise unavailable(sampling.event, error.errno or errno.EINVAL) from error
        except EventUnavailable:
            self.close()
            raise

    def descriptors(self) -> Iterable[int]:
        """One per thread and CPU."""
        return [descriptor for _, descriptor in self._events]

    def enable(self) -> None:
        """Start sampling all threads, and those that a rescan finds later."""
        self._enabled = True
        super().enable()

    def disable(self) -> None:
        """Stop sampling all threads."""
        self._enabled = False
        super().disable()

    def totals(self) -> Totals:
        """Totals summed over threads: an event whose record did not fit counts the loss itself."""
        lost = dict.fromkeys(self.cpus, 0)
        enabled = running = 0
        for cpu, descriptor in self._events:
            one = read_totals(descriptor)
            lost[cpu] += sum(one.lost)
            enabled += one.enabled_ns
            running += one.running_ns
        known = self._attributes.read_format & ReadFormat.LOST
        return Totals(tuple(lost[cpu] for cpu in self.cpus) if known else (), enabled, running)

    def rescan(self, consume: Callable[[Record], None]) -> None:
        """Add the threads that no sampled thread started.

        The scan runs before the drain: a thread that it saw and that the kernel added to the events has its FORK
        record in the ring by then, so it is known and not opened twice.
        """
        seen = list(self._threads())
        self.drain(consume)
        self._add([tid for tid in seen if tid not in self._known])

    def drain(self, consume: Callable[[Record], None], *, everything: bool = False) -> None:
        """Drain like any sampler, and note the threads that the kernel has added."""

        def follow(record: Record) -> None:
            if isinstance(record, Forked):
                self._known.add(record.tid)
            elif isinstance(record, Exited):
                self._known.discard(record.tid)
            consume(record)

        super().drain(follow, everything=everything)

    def _output_attributes(self) -> Attributes:
        """An event that never fires and only owns the ring; it must use the same clock."""
        attributes = Attributes(
            type=EventType.SOFTWARE,
            config=SOFTWARE_DUMMY,
            sample_type=self._attributes.sample_type,
            read_format=ReadFormat.LOST,
            wakeup_watermark=self._attributes.wakeup_watermark,
            clockid=self._attributes.clockid,
            sample_regs_user=self._attributes.sample_regs_user,
            sample_stack_user=self._attributes.sample_stack_user,
        )
        attributes.flags = (
            Flag.DISABLED | Flag.EXCLUDE_KERNEL | Flag.SAMPLE_ID_ALL | Flag.WATERMARK | Flag.USE_CLOCKID
        )
        return attributes

    def _add(self, threads: Sequence[int]) -> None:
        room = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _SPARE_DESCRIPTORS
        for tid in threads:
            if len(self._events) + len(self.cpus) > room:
                self.left_out += 1
                continue
            for cpu in self.cpus:
                try:
                    descriptor = self._open(self._attributes, pid=tid, cpu=cpu)
                except OSError as error:
                    if error.errno in _SKIPPED:
                        break
                    raise
                ioctl(descriptor, IOC_SET_OUTPUT, self._outputs[cpu])
                self._attach_program(descriptor)  # threads that inherit the event inherit the program
                self._events.append((cpu, descriptor))
                if self._enabled:
                    ioctl(descriptor, IOC_ENABLE, 0)
                # A refused thread may be permitted later: for example a program during exec.
                self._known.add(tid)
