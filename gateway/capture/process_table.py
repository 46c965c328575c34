"""The processes of one capture: their mappings and identities, followed by perf records.

A process is read at its first sample, not at the start: a capture samples a few dozen of hundreds. FORK, COMM and
MMAP2 records describe processes that start during the window, because they may have ended before their samples are
read.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gateway.errors import AccessDenied, ProcessGone
from gateway.process.address_space import AddressSpace
from gateway.process.identity import Identity, no_labels, read_identity
from gateway.process.maps import Vma, read_executable_maps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateway.capture.packer import SegmentCounts
    from gateway.containers.process_environment import Labels
    from gateway.perf.records import Exited, Forked, Mapped, Renamed

# The kernel's idle thread, which /proc does not list, and a task that is being reaped.
_IDLE: Final = Identity("swapper", "", "", "", "", "", kernel_thread=True)
_UNKNOWN_IDENTITY: Final = Identity("", "", "", "", "", "", kernel_thread=False)
_REAPED: Final = 0xFFFFFFFF
# The number of drains between two reads of mappings doubles up to 2 to the power of this: some 16 s.
_MAX_FAILED_READS: Final = 6


class SampledProcess:
    """One process of this capture.

    - `read_at`: time at which /proc was read; older records are already included.
    - `identity`: what is known so far; `executable`: the first file mapped since the last exec.
    - `next_read`: the drain from which its mappings may be read again; `failed_reads`: reads without a new mapping.
    - `frames`: the frame of each address and its flags; `mappings`: the mapping index of each start address.
    - `generated`: keys of `frames` whose code has no file, each with the address looked up.
    - `parent`: known for processes that started during the window.
    - `early`: samples between an exec and the first mapping: until then neither /proc nor the records name the
      program's file.
    """

    __slots__ = (
        "early",
        "executable",
        "failed_reads",
        "frames",
        "generated",
        "group",
        "identity",
        "mappings",
        "next_read",
        "parent",
        "read_at",
        "sampled",
        "space",
        "starting",
    )

    def __init__(
        self,
        space: AddressSpace,
        *,
        identity: Identity | None = None,
        read_at: int = 0,
        parent: int | None = None,
        starting: bool = False,
    ) -> None:
        self.parent = parent
        self.starting = starting
        self.early: list[tuple[SegmentCounts, int]] = []
        self.space = space
        self.identity = identity
        self.read_at = read_at
        self.group: int | None = None
        self.sampled = False
        self.executable = ""
        self.next_read = 0
        self.failed_reads = 0
        self.frames: dict[int, int] = {}
        self.generated: dict[int, int] = {}
        self.mappings: dict[int, int] = {}

    def forget_frames(self) -> None:
        """Drop the frames of all addresses: other mappings may be there now."""
        self.frames.clear()
        self.generated.clear()
        self.mappings.clear()


class ProcessTable:
    """The processes of a capture by pid: those with samples, and children seen to start."""

    def __init__(self, own_labels: Callable[[int], Labels] = no_labels) -> None:
        self._own_labels = own_labels
        self._processes: dict[int, SampledProcess] = {}
        self._parents: dict[int, int] = {}
        self.denied = 0
        """Processes whose mappings the kernel did not show."""

    def __iter__(self) -> Iterator[tuple[int, SampledProcess]]:
        return iter(self._processes.items())

    def sampled(self, pid: int) -> SampledProcess:
        """The process of a sample, read from /proc if it is new."""
        process = self._processes.get(pid)
        if process is None:
            process = self._processes[pid] = self._first_sample(pid)
        process.sampled = True
        return process

    def parent_of(self, pid: int, process: SampledProcess) -> int | None:
        """The parent of a process that started during the window; None: unknown."""
        return process.parent if process.parent is not None else self._parents.get(pid)

    def clear(self) -> None:
        """Drop all processes; call it after a gap in their records."""
        self._processes.clear()
        self._parents.clear()

    def reread_mappings(self, pid: int, process: SampledProcess, drain: int) -> bool:
        """Read the mappings again; whether that showed any without a record.

        perf reports mmap and mprotect but not mremap, and nothing while an event is disabled or its ring is full.
        A process is read at most once a drain, and less often while its walks fail for another reason.
        """
        if drain < process.next_read:
            return False
        try:
            found = process.space.refresh(read_executable_maps(pid))
        except (ProcessGone, AccessDenied):
            found = False
        if found:
            process.forget_frames()
            process.failed_reads = 0
        else:
            process.failed_reads = min(process.failed_reads + 1, _MAX_FAILED_READS)
        process.next_read = drain + (1 << process.failed_reads)
        return found

    def identify(self, pid: int, process: SampledProcess, *, records_lost: bool) -> Identity:
        """Read or complete the identity of a process; `records_lost`: its exec record may be among the lost ones."""
        identity = process.identity
        try:
            if identity is None or pid not in (0, _REAPED):
                now = read_identity(pid, self._own_labels)
                # If the child of a known program has changed, its exec record is still to come, unless one was lost.
                if identity is None or identity.exe in {"", now.exe} or records_lost:
                    identity = now
        except (ProcessGone, AccessDenied):
            identity = self._last_known_identity(pid, process)
        process.identity = identity
        return identity

    def map(self, record: Mapped) -> SampledProcess | None:
        """Add a mapping; returns the process if it is known and changed."""
        process = self._processes.get(record.pid)
        if process is None or record.time < process.read_at:
            return None
        if not process.executable and record.path.startswith("/"):
            process.executable = record.path
        process.space.map(
            Vma(
                record.start,
                record.end,
                record.offset,
                record.path,
                b"",
                record.device,
                record.inode,
                record.deleted,
            )
        )
        process.forget_frames()
        process.starting = False
        return process

    def fork(self, record: Forked) -> bool:
        """Add a child; False: the record is about a thread."""
        if record.pid == record.parent:
            return False
        parent = self._processes.get(record.parent)
        if parent is None:
            # Rarely needed: only if the child ends before its first sample is read.
            self._parents[record.pid] = record.parent
            self._processes.pop(record.pid, None)
            return True
        self._processes[record.pid] = SampledProcess(
            parent.space.copy(), identity=parent.identity, parent=record.parent
        )
        return True

    def exit(self, record: Exited) -> SampledProcess | None:
        """Drop an ended process without samples; returns one that has samples."""
        if record.tid != record.pid:
            return None
        self._parents.pop(record.pid, None)
        process = self._processes.get(record.pid)
        if process is None:
            return None
        if not process.sampled:
            del self._processes[record.pid]
            return None
        return process

    def exec(self, record: Renamed) -> bool:
        """Replace the program of a process; False: the record is a new name only, or older than /proc."""
        if not record.executed:
            return False
        process = self._processes.get(record.pid)
        if process is not None and record.time < process.read_at:
            return False
        # A new program in the same control group.
        before = process.identity if process is not None and process.identity else _UNKNOWN_IDENTITY
        named = replace(before, comm=record.comm, exe="", script="")
        parent = None if process is None else process.parent
        self._processes[record.pid] = SampledProcess(
            AddressSpace(()), identity=named, parent=parent, starting=True
        )
        return True

    def _first_sample(self, pid: int) -> SampledProcess:
        if pid == 0:
            return SampledProcess(AddressSpace(()), identity=_IDLE)
        if pid == _REAPED:
            return SampledProcess(AddressSpace(()), identity=_UNKNOWN_IDENTITY)
        now = time.monotonic_ns()
        try:
            space = AddressSpace(read_executable_maps(pid))
        except AccessDenied:
            self.denied += 1
            return SampledProcess(AddressSpace(()))
        except ProcessGone:
            return self._copy_of_parent(pid)
        if pid in self._parents and self._runs_another_program(pid, space):
            return self._copy_of_parent(pid)
        return SampledProcess(space, read_at=now)

    def _runs_another_program(self, pid: int, space: AddressSpace) -> bool:
        """Whether a forked child runs another program although its exec record has not been read.

        Its samples before that record belong to its parent's program, of which it has no mapping left. During exec
        it has no mapping at all, nor as a zombie.
        """
        parent_pid = self._parents[pid]
        parent = self._processes.get(parent_pid)
        try:
            theirs = parent.space.vmas if parent is not None else read_executable_maps(parent_pid)
        except (ProcessGone, AccessDenied):
            return False
        inherited = {(vma.start, vma.offset, vma.inode) for vma in theirs if vma.has_file}
        own = {(vma.start, vma.offset, vma.inode) for vma in space.vmas}
        return bool(inherited) and inherited.isdisjoint(own)

    def _copy_of_parent(self, pid: int) -> SampledProcess:
        """State of a process whose program can no longer be read: it ran its parent's program."""
        parent_pid = self._parents.get(pid, _REAPED)
        parent = self._processes.get(parent_pid)
        if parent is not None:
            return SampledProcess(parent.space.copy(), identity=parent.identity)
        try:
            return SampledProcess(
                AddressSpace(read_executable_maps(parent_pid)),
                identity=read_identity(parent_pid, self._own_labels),
            )
        except (ProcessGone, AccessDenied):
            return SampledProcess(AddressSpace(()))

    def _last_known_identity(self, pid: int, process: SampledProcess) -> Identity:
        """Identity of a process that has ended: from its records; its control group from its parent."""
        identity = process.identity or _UNKNOWN_IDENTITY
        # cgroups(7): an exiting process leaves the groups of version 1, so its own file may name the root already.
        if not identity.cgroup and pid in self._parents:
            try:
                parent = read_identity(self._parents[pid], self._own_labels)
            except (ProcessGone, AccessDenied):
                parent = _UNKNOWN_IDENTITY
            identity = replace(
                identity,
                cgroup=parent.cgroup,
                container=parent.container,
                unit=parent.unit,
                labels=parent.labels,
            )
        return identity if identity.exe else replace(identity, exe=process.executable)
