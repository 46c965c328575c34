"""Throughput of a program with and without sampling in one run, slice by slice in random order.

There are three kinds of slices: `OFF`; `KERNEL`, in which the kernel samples and the ring is emptied unread; `WHOLE`,
in which the gateway's own classes read, unwind and count, as in a capture. Opening events and packing are excluded:
they occur once per visit and are measured as the gateway's CPU time.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from benchmarks.overhead.paired import Slowdown, slowdown
from fleetpb import capture_pb2
from gateway.capture.packer import Packer
from gateway.capture.recorder import Recorder
from gateway.machine.topology import online_cpus
from gateway.perf.sampler import MachineSampler, Sampling
from gateway.process.walker import Walker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.overhead.programs import Running
    from gateway.capture.capture_resources import CaptureResources
    from gateway.perf.events import Event

SLICE_S: Final = 0.2
_NICENESS: Final = -15
_STACK_BYTES: Final = 16384
_MAX_DEPTH: Final = 256


class How(Enum):
    """Kind of a slice."""

    OFF = "off"
    KERNEL = "kernel"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice: the program's units per second, and per second of its own CPU time."""

    rate: float
    rate_of_cpu: float
    seconds: float
    samples: int
    reading_s: float
    """CPU time of the gateway's classes."""


@dataclass(slots=True)
class Measured:
    """All slices of one program, event and period."""

    program: str
    event: str
    period: int
    slices: dict[How, list[Slice]] = field(default_factory=lambda: {how: [] for how in How})

    @property
    def slowdown(self) -> Slowdown:
        """Slowdown by all of sampling, in wall time."""
        return self._loss(How.WHOLE, cpu=False)

    @property
    def kernel(self) -> Slowdown:
        """Slowdown by the kernel's part, in the program's own CPU time, which includes the timer's interrupt.

        Other processes take wall time from the program, but affect this only through the caches.
        """
        return self._loss(How.KERNEL, cpu=True)

    @property
    def samples_per_s(self) -> float:
        """Samples taken per second on all CPUs together."""
        whole = self.slices[How.WHOLE]
        return sum(part.samples for part in whole) / sum(part.seconds for part in whole)

    @property
    def reading_us(self) -> float:
        """CPU time of reading and unwinding one sample, µs."""
        whole = self.slices[How.WHOLE]
        samples = sum(part.samples for part in whole)
        return sum(part.reading_s for part in whole) * 1e6 / samples if samples else 0.0

    @property
    def cpus_had(self) -> float:
        """CPUs available to the program in `OFF` slices: all of them on a quiet machine."""
        off = self.slices[How.OFF]
        return sum(part.rate / part.rate_of_cpu for part in off) / len(off)

    def _loss(self, how: How, *, cpu: bool) -> Slowdown:
        rates = [
            [part.rate_of_cpu if cpu else part.rate for part in self.slices[which]]
            for which in (How.OFF, how)
        ]
        return slowdown(*rates)


class _Discarding(MachineSampler):
    """A sampler that can also empty its rings unread."""

    def discard(self) -> None:
        for ring in self._rings:
            ring.release(ring.head)


def measure(
    resources: CaptureResources, program: Running, event: Event, period: int, *, seconds: float, seed: int = 1
) -> Measured:
    """Measure slices for `seconds`, in random order within each block of three. Raises EventUnavailable."""
    found = Measured(program.name, event.name, period)
    chance = random.Random(seed)
    sampling = Sampling(event, period, stacks=True, stack_bytes=_STACK_BYTES)
    packer = Packer()
    walker = Walker(resources.images, max_depth=_MAX_DEPTH)
    recorder = Recorder(
        packer,
        resources.images,
        walker,
        resources.kernel,
        kernel_build_id=resources.kernel_build_id,
        max_depth=_MAX_DEPTH,
    )
    segment = packer.segment(capture_pb2.Segment(stacks=True))
    resources.kernel()
    with (
        resources.images_in_use(),
        contextlib.closing(recorder),
        _Discarding(sampling, online_cpus()) as sampler,
        _raised_priority(),
    ):

        def spend(how: How) -> Slice:
            work, cpu, samples = program.work(), program.cpu_s(), recorder.samples
            began, reading = time.monotonic(), 0.0
            if how is not How.OFF:
                sampler.enable()
            while (left := began + SLICE_S - time.monotonic()) > 0:
                time.sleep(min(left, sampler.wait_s))
                if left <= sampler.wait_s and how is not How.OFF:
                    sampler.disable()
                if how is How.WHOLE:
                    before = time.thread_time()
                    sampler.drain(recorder.consumer(segment), everything=left <= sampler.wait_s)
                    reading += time.thread_time() - before
                elif how is How.KERNEL:
                    sampler.discard()
            ended = time.monotonic()
            done = max(1, program.work() - work)
            return Slice(
                rate=done / (ended - began),
                rate_of_cpu=done / max(1e-9, program.cpu_s() - cpu),
                seconds=ended - began,
                samples=recorder.samples - samples,
                reading_s=reading,
            )

        deadline = time.monotonic() + seconds
        spend(How.WHOLE)  # opens images and reads their tables: once per visit, not in every slice
        while time.monotonic() < deadline or len(found.slices[How.OFF]) < 5:
            order = list(How)
            chance.shuffle(order)
            for how in order:
                found.slices[how].append(spend(how))
    return found


@contextlib.contextmanager
def _raised_priority() -> Iterator[None]:
    """Raise the priority as in a capture, whose thread runs before the sampled ones."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, before)
