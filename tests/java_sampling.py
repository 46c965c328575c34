"""Samples of one Java process as the gateway reads them: for each the end of the walk and its frames, leaf first."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from gateway.capture.process_table import ProcessTable
from gateway.machine.topology import online_cpus
from gateway.perf.events import EVENTS
from gateway.perf.records import Exited, Forked, Lost, Mapped, Renamed, Sample
from gateway.perf.sampler import MachineSampler, Sampling
from gateway.process.address_space import AddressSpace
from gateway.process.images import Images
from gateway.process.maps import read_executable_maps
from gateway.process.walker import Walker
from gateway.runtimes.hotspot.frames import FrameKind, JavaFrame
from gateway.runtimes.hotspot.hotspot_process import HotspotProcesses, LayoutCache, exported_by
from gateway.runtimes.process_memory import CaptureBudget, ProcessMemory

if TYPE_CHECKING:
    from gateway.perf.records import Record
    from gateway.process.walker import Walk

NATIVE = "(native)"


class JavaSample(NamedTuple):
    """`frames` are of Java and of the JVM's own code; other addresses are frames named NATIVE with their file."""

    tid: int
    end: int
    frames: tuple[JavaFrame, ...]
    walk: Walk
    raw: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """Registers and words of the stack copy, if requested."""


@dataclass
class Recording:
    """The samples, and what reading them cost beyond the drain itself."""

    samples: list[JavaSample] = field(default_factory=list)
    cpu_s: float = 0.0
    first_cpu_s: float = 0.0
    lost: int = 0
    notes: list[str] = field(default_factory=list)


def record(
    pid: int,
    seconds: float,
    *,
    hz: int = 199,
    stack_bytes: int = 16384,
    drain_s: float = 0.3,
    keep: bool = False,
) -> Recording:
    """Sample one process for so long; `keep` the registers and stack copies."""
    event = next(event for event in EVENTS.values() if event.name == "cpu")
    images = Images()
    walker = Walker(images, max_depth=1024)
    processes = ProcessTable()
    jvms = HotspotProcesses(images, LayoutCache())
    done = Recording()
    drains = 0

    def consume(taken: Record) -> None:
        if isinstance(taken, Sample) and taken.pid == pid and taken.registers:
            began = time.process_time()
            process = processes.sampled(pid)
            space = process.space
            jvm = jvms.prepare(pid, space, drains) if space.libjvm else None
            walk = walker.walk(pid, space, taken.registers, taken.stack, taken.stack_bytes)
            if jvm is not None and jvm.is_outdated(space, walk):
                walk = walker.walk(pid, space, taken.registers, taken.stack, taken.stack_bytes)
            frames: list[JavaFrame] = []
            interpreted = {position: (method, bcp) for position, method, bcp in walk.interpreted}
            for position, address in enumerate(walk.addresses):
                activations: tuple[JavaFrame, ...] = ()
                if jvm is not None:
                    key = interpreted.get(position) or address << 1 | (position in walk.exact)
                    activations = jvm.activations(key)
                if not activations:
                    vma = space.find(address)
                    activations = (JavaFrame(NATIVE, vma.path if vma else "", 0, FrameKind.STUB),)
                frames.extend(activations)
            spent = time.process_time() - began
            if done.samples:
                done.cpu_s += spent
            else:
                done.first_cpu_s = spent
            raw = (taken.registers, tuple(taken.stack[: taken.stack_bytes >> 3])) if keep else None
            done.samples.append(JavaSample(taken.tid, walk.end, tuple(frames), walk, raw))
        elif isinstance(taken, Mapped):
            processes.map(taken)
        elif isinstance(taken, Forked):
            processes.fork(taken)
        elif isinstance(taken, Renamed):
            processes.exec(taken)
        elif isinstance(taken, Exited):
            processes.exit(taken)
        elif isinstance(taken, Lost):
            done.lost += taken.records

    sampling = Sampling(event, 1_000_000_000 // hz, stack_bytes=stack_bytes)
    with contextlib.closing(jvms), MachineSampler(sampling, online_cpus()) as sampler:
        sampler.enable()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(min(drain_s, sampler.wait_s))
            drains += 1
            sampler.drain(consume)
        sampler.disable()
        drains += 1
        sampler.drain(consume, everything=True)
        done.notes = jvms.notes()
    images.close_files()
    return done


def open_memory(pid: int) -> tuple[ProcessMemory, AddressSpace]:
    """The memory and executable mappings of a process."""
    return ProcessMemory(pid, CaptureBudget()), AddressSpace(read_executable_maps(pid))


def symbol(pid: int, space: AddressSpace, name: str) -> int:
    """The address of one of libjvm's symbols in a process."""
    assert space.libjvm is not None
    return exported_by(Images().open(pid, space.libjvm), space.libjvm)(name)
