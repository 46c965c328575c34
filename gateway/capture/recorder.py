"""Turns perf records into counted stacks: follows processes, walks stacks, resolves frames.

A process is read at its first sample, not at the start: a capture samples a few dozen of hundreds. FORK, COMM and
MMAP2 records describe processes that start during the window, because they may have ended before their samples are
read.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.capture.packer import BY_FRAME_POINTER, EXACT, KERNEL, UNKNOWN, FrameKey, GroupKey, Image
from gateway.errors import AccessDenied, ProcessGone
from gateway.jit.jit_names import JitNames
from gateway.perf.records import Exited, Forked, Lost, Mapped, Mode, Renamed, Sample, Throttled, user_ip
from gateway.process.address_space import AddressSpace
from gateway.process.identity import Identity, no_labels, read_identity
from gateway.process.maps import Vma, read_executable_maps

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.capture.packer import Packer, SegmentCounts
    from gateway.containers.process_environment import Labels
    from gateway.machine.kernel_map import KernelLocation, KernelMap
    from gateway.perf.records import Record
    from gateway.process.images import Images
    from gateway.process.walker import Walk, Walker

# The kernel's idle thread, which /proc does not list, and a task that is being reaped.
_IDLE: Final = Identity("swapper", "", "", "", "", "", kernel_thread=True)
_UNKNOWN_IDENTITY: Final = Identity("", "", "", "", "", "", kernel_thread=False)
_REAPED: Final = 0xFFFFFFFF
# The number of drains between two reads of mappings doubles up to 2 to the power of this: some 16 s.
_MAX_FAILED_READS: Final = 6
_KERNEL_RUNTIME: Final = Image(capture_pb2.Mapping.ANONYMOUS, "[kernel]")
_VDSO: Final = "[vdso]"
# Memory-only files: .NET and others map generated code from one, to write it through a second mapping.
_MEMORY_FILES: Final = ("/memfd:", "/dev/zero", "/anon_hugepage", "/SYSV")
_FLAG_BITS: Final = 3
_FLAGS: Final = (1 << _FLAG_BITS) - 1
_GUESTS: Final = frozenset({int(Mode.GUEST_KERNEL), int(Mode.GUEST_USER)})


class _Process:
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


class Recorder:
    """Consumes the records of one capture and counts them into the current segment.

    `kernel` is called at the first kernel frame: reading the map is the most expensive part of a capture.
    """

    def __init__(
        self,
        packer: Packer,
        images: Images,
        walker: Walker,
        kernel: Callable[[], KernelMap],
        *,
        kernel_build_id: bytes,
        max_depth: int,
        own_labels: Callable[[int], Labels] = no_labels,
    ) -> None:
        self._packer = packer
        self._own_labels = own_labels
        self._images = images
        self._walker = walker
        self._read_kernel = kernel
        self._kernel: KernelMap | None = None
        self._kernel_build_id = kernel_build_id
        self._max_depth = max_depth
        self._processes: dict[int, _Process] = {}
        self._parents: dict[int, int] = {}
        self._jit = JitNames()
        self._kernel_frames: dict[int, int] = {}
        self._kernel_mappings: dict[tuple[str | None, bool], int] = {}
        self._unknown_frame: int | None = None
        self._denied = 0
        self._drains = 0
        self.lost_records = 0
        self.samples = 0
        self.seen: dict[Image, int] = {}
        """Images with frames in the capture, each with one process that mapped it."""

    def consumer(self, segment: SegmentCounts) -> Callable[[Record], None]:
        """A function for one drain of a sampler that counts its samples in the segment."""
        self._drains += 1
        flat = not segment.message.stacks

        def consume(record: Record) -> None:
            if isinstance(record, Sample):
                self._count(segment, record, flat=flat)
            elif isinstance(record, Mapped):
                self._map(record)
            elif isinstance(record, Forked):
                self._fork(record)
            elif isinstance(record, Exited):
                self._exit(record)
            elif isinstance(record, Renamed):
                self._exec(record)
            elif isinstance(record, Lost):
                self.lost_records += record.records
                segment.lost_records += record.records
            elif isinstance(record, Throttled):
                segment.message.throttled += 1

        return consume

    def forget_processes(self) -> None:
        """Drop the state of all processes; call it after a gap in their records."""
        self.count_early()
        self._processes.clear()
        self._parents.clear()
        self._jit.close()

    def close(self) -> None:
        """Close the files opened for processes; call it at the end."""
        self._jit.close()

    def notes(self) -> list[str]:
        """Everything that could not be read, as sentences."""
        notes = []
        if self._denied:
            notes.append(
                f"the mappings of {self._denied} processes could not be read: "
                "the gateway lacks CAP_SYS_PTRACE or CAP_DAC_READ_SEARCH"
            )
        if self._kernel is not None and not self._kernel.readable:
            notes.append(
                "the kernel hides its addresses (kernel.kptr_restrict): the gateway lacks CAP_SYSLOG"
            )
        return notes + self._jit.notes()

    def _count(self, segment: SegmentCounts, sample: Sample, *, flat: bool) -> None:
        self.samples += 1
        process = self._processes.get(sample.pid)
        if process is None:
            process = self._processes[sample.pid] = self._first_sample(sample.pid)
        process.sampled = True
        if process.generated:
            self._refresh_names(sample.pid, process)
        frames, end = self._stack(sample, process, flat=flat)
        stack = self._packer.stack(frames, end)
        group = process.group
        if group is None:
            if process.starting and sample.mode == Mode.KERNEL:
                process.early.append((segment, stack))
                return
            group = self._set_group(sample.pid, process)
        segment.counts[group, stack] += 1

    def _set_group(self, pid: int, process: _Process) -> int:
        """Find the group of a process, count its early samples for it and return it."""
        group = process.group = self._group(pid, process)
        for segment, stack in process.early:
            segment.counts[group, stack] += 1
        process.early.clear()
        return group

    def count_early(self) -> None:
        """Count samples of programs without a mapping record after their exec."""
        for pid, process in self._processes.items():
            if process.early:
                self._set_group(pid, process)

    def _stack(self, sample: Sample, process: _Process, *, flat: bool) -> tuple[tuple[int, ...], int]:
        known = self._kernel_frames
        frames: list[int] = []
        exact = 1
        for address in sample.kernel[: self._max_depth]:
            key = address << 1 | exact
            frame = known.get(key)
            if frame is None:
                frame = known[key] = self._kernel_frame(address, exact=bool(exact))
            frames.append(frame)
            exact = 0
        if sample.mode in _GUESTS:
            return (self._unknown(),), capture_pb2.STACK_END_NO_MAPPING
        if flat:
            if not frames:
                frames.append(self._user_frame(sample.pid, process, sample.ip, flags=EXACT))
            return tuple(frames), capture_pb2.STACK_END_FLAT
        if not sample.registers:
            if not frames:
                frames.append(self._unknown())
            return tuple(frames), capture_pb2.STACK_END_KERNEL_ONLY
        if sample.compat:
            frames.append(self._user_frame(sample.pid, process, user_ip(sample), flags=EXACT))
            return tuple(frames), capture_pb2.STACK_END_NO_UNWIND
        walk = self._walk(sample, process)
        frames += self._user_frames(sample.pid, process, walk)
        return tuple(frames), walk.end

    def _user_frames(self, pid: int, process: _Process, walk: Walk) -> list[int]:
        keys = [address << _FLAG_BITS for address in walk.addresses]
        for position in walk.exact:
            keys[position] |= EXACT
        for position in walk.by_frame_pointer:
            keys[position] |= BY_FRAME_POINTER
        known = process.frames
        try:
            return [known[key] for key in keys]
        except KeyError:
            for key in keys:
                if key not in known:
                    known[key] = self._user_frame(pid, process, key >> _FLAG_BITS, flags=key & _FLAGS)
            return [known[key] for key in keys]

    def _refresh_names(self, pid: int, process: _Process) -> None:
        """Drop the frames whose code has a new name since the last drain."""
        changed = self._jit.refresh(pid, self._drains)
        if changed:
            for key in [key for key, address in process.generated.items() if address in changed]:
                del process.generated[key]
                process.frames.pop(key, None)  # frames of flat samples are not stored

    def _walk(self, sample: Sample, process: _Process) -> Walk:
        pid, space = sample.pid, process.space
        walk = self._walker.walk(pid, space, sample.registers, sample.stack, sample.stack_bytes)
        if walk.end == capture_pb2.STACK_END_NO_MAPPING and self._reread_mappings(pid, process):
            walk = self._walker.walk(pid, space, sample.registers, sample.stack, sample.stack_bytes)
        return walk

    def _reread_mappings(self, pid: int, process: _Process) -> bool:
        """Read the mappings again; whether that showed any without a record.

        perf reports mmap and mprotect but not mremap, and nothing while an event is disabled or its ring is full.
        A process is read at most once a drain, and less often while its walks fail for another reason.
        """
        if self._drains < process.next_read:
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
        process.next_read = self._drains + (1 << process.failed_reads)
        return found

    def _unknown(self) -> int:
        if self._unknown_frame is None:
            mapping = self._packer.image(UNKNOWN)
            self._unknown_frame = self._packer.frame(FrameKey(mapping, 0, 0, EXACT))
        return self._unknown_frame

    def _kernel_frame(self, address: int, *, exact: bool) -> int:
        if self._kernel is None:
            self._kernel = self._read_kernel()
        place = self._kernel.find(address, exact=exact)
        flags = KERNEL | (EXACT if exact else 0)
        into = 0
        if place.function_offset is not None:
            into = 1 + place.offset - (0 if exact else 1) - place.function_offset
        # Run-time code belongs to no module: its name decides whether it is known at all.
        owner = place.module, bool(place.name)
        mapping = self._kernel_mappings.get(owner)
        if mapping is None:
            mapping = self._kernel_mappings[owner] = self._packer.image(self._kernel_image(place))
        return self._packer.frame(FrameKey(mapping, place.offset, into, flags, place.name))

    def _kernel_image(self, place: KernelLocation) -> Image:
        assert self._kernel is not None
        if place.module is None:
            return _KERNEL_RUNTIME if place.name else UNKNOWN
        if place.module:
            module = self._kernel.modules()[place.module]
            return Image(capture_pb2.Mapping.MODULE, f"[{module.name}]", module.build_id)
        return Image(capture_pb2.Mapping.KERNEL, "[kernel]", self._kernel_build_id)

    def _user_frame(self, pid: int, process: _Process, address: int, *, flags: int) -> int:
        # A call may be the last instruction of its mapping, so a return address is looked up one byte earlier.
        lookup = address if flags & EXACT else address - 1
        vma = process.space.find(lookup)
        if vma is None:
            return self._packer.frame(FrameKey(self._packer.image(UNKNOWN), 0, 0, flags))
        mapping = process.mappings.get(vma.start)
        if mapping is None:
            image = self._user_image(pid, vma)
            self.seen[image] = pid
            mapping = process.mappings[vma.start] = self._packer.image(image)
        if self._is_generated(pid, vma):
            parent = process.parent if process.parent is not None else self._parents.get(pid)
            process.generated[address << _FLAG_BITS | flags] = lookup
            name = self._jit.name(pid, parent, lookup, self._drains)
            return self._packer.frame(FrameKey(mapping, 0, 0, flags, name))
        offset = address - vma.start + vma.offset
        looked_up = lookup - vma.start + vma.offset
        start = self._walker.function_start(pid, vma, looked_up)
        into = 0 if start is None else 1 + looked_up - start
        return self._packer.frame(FrameKey(mapping, offset, into, flags))

    def _is_generated(self, pid: int, vma: Vma) -> bool:
        """Whether the process generated the code itself, so that no file names it."""
        if vma.path.startswith(_MEMORY_FILES):
            return not self._images.open(pid, vma).is_elf  # a library may be loaded from memory as well
        return not vma.has_file and vma.path != _VDSO

    def _user_image(self, pid: int, vma: Vma) -> Image:
        if self._is_generated(pid, vma):
            return Image(capture_pb2.Mapping.ANONYMOUS, vma.path)
        if vma.has_file:
            image = self._images.open(pid, vma)
            build_id = vma.build_id or image.build_id
            content_key = "" if build_id else image.content_key
            return Image(capture_pb2.Mapping.FILE, vma.path, build_id, content_key, vma.deleted)
        image = self._images.open(pid, vma)
        return Image(capture_pb2.Mapping.VDSO, _VDSO, image.build_id)

    def _first_sample(self, pid: int) -> _Process:
        if pid == 0:
            return _Process(AddressSpace(()), identity=_IDLE)
        if pid == _REAPED:
            return _Process(AddressSpace(()), identity=_UNKNOWN_IDENTITY)
        now = time.monotonic_ns()
        try:
            space = AddressSpace(read_executable_maps(pid))
        except AccessDenied:
            self._denied += 1
            return _Process(AddressSpace(()))
        except ProcessGone:
            return self._copy_of_parent(pid)
        if pid in self._parents and self._runs_another_program(pid, space):
            return self._copy_of_parent(pid)
        return _Process(space, read_at=now)

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

    def _copy_of_parent(self, pid: int) -> _Process:
        """State of a process whose program can no longer be read: it ran its parent's program."""
        parent_pid = self._parents.get(pid, _REAPED)
        parent = self._processes.get(parent_pid)
        if parent is not None:
            return _Process(parent.space.copy(), identity=parent.identity)
        try:
            return _Process(
                AddressSpace(read_executable_maps(parent_pid)),
                identity=read_identity(parent_pid, self._own_labels),
            )
        except (ProcessGone, AccessDenied):
            return _Process(AddressSpace(()))

    def _group(self, pid: int, process: _Process) -> int:
        identity = process.identity
        try:
            if identity is None or pid not in (0, _REAPED):
                now = read_identity(pid, self._own_labels)
                # If the child of a known program has changed, its exec record is still to come, unless one was lost.
                if identity is None or identity.exe in {"", now.exe} or self.lost_records:
                    identity = now
        except (ProcessGone, AccessDenied):
            identity = self._last_known_identity(pid, process)
        process.identity = identity
        main = 0
        for vma in process.space.vmas:
            if identity.exe and vma.path == identity.exe:
                main = 1 + self._packer.image(self._user_image(pid, vma))
                break
        return self._packer.group(GroupKey(identity, main), pid)

    def _last_known_identity(self, pid: int, process: _Process) -> Identity:
        """Identity of a process that has ended: from its records; its control group from its parent."""
        identity = process.identity or _UNKNOWN_IDENTITY
        if identity.exe:
            return identity
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
        return replace(identity, exe=process.executable)

    def _map(self, record: Mapped) -> None:
        process = self._processes.get(record.pid)
        if process is None or record.time < process.read_at:
            return
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
        if process.early:
            self._set_group(record.pid, process)

    def _fork(self, record: Forked) -> None:
        if record.pid == record.parent:
            return
        self._jit.forget(record.pid)
        parent = self._processes.get(record.parent)
        if parent is None:
            # Rarely needed: only if the child ends before its first sample is read.
            self._parents[record.pid] = record.parent
            self._processes.pop(record.pid, None)
            return
        self._processes[record.pid] = _Process(
            parent.space.copy(), identity=parent.identity, parent=record.parent
        )

    def _exit(self, record: Exited) -> None:
        if record.tid != record.pid:
            return
        self._parents.pop(record.pid, None)
        process = self._processes.get(record.pid)
        if process is None:
            return
        if process.early:
            self._set_group(record.pid, process)
        if not process.sampled:
            del self._processes[record.pid]

    def _exec(self, record: Renamed) -> None:
        if not record.executed:
            return
        process = self._processes.get(record.pid)
        if process is not None and record.time < process.read_at:
            return
        # A new program in the same control group.
        before = process.identity if process is not None and process.identity else _UNKNOWN_IDENTITY
        named = replace(before, comm=record.comm, exe="", script="")
        parent = None if process is None else process.parent
        self._jit.forget(record.pid)
        self._processes[record.pid] = _Process(AddressSpace(()), identity=named, parent=parent, starting=True)
