"""The record loop of one capture: counts the samples in perf records as stacks of process groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.capture.frames import FrameResolver
from gateway.capture.packer import EXACT, GroupKey
from gateway.capture.process_table import ProcessTable
from gateway.capture.source_frames import NativeStack
from gateway.perf.attributes import REGISTER_SP
from gateway.perf.records import Exited, Forked, Lost, Mapped, Mode, Renamed, Sample, Throttled, user_ip
from gateway.process.identity import no_labels
from gateway.runtimes.hotspot.hotspot_process import HotspotProcesses

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.capture.packer import Image, Packer, SegmentCounts
    from gateway.capture.process_table import SampledProcess
    from gateway.capture.source_frames import SourceFrames
    from gateway.containers.process_environment import Labels
    from gateway.machine.kernel_map import KernelMap
    from gateway.perf.records import Record
    from gateway.process.address_space import AddressSpace
    from gateway.process.images import Images
    from gateway.process.walker import Walk, Walker
    from gateway.runtimes.hotspot.hotspot_process import LayoutCache

_GUESTS: Final = frozenset({int(Mode.GUEST_KERNEL), int(Mode.GUEST_USER)})


class Recorder:
    """Consumes the records of one capture and counts them into the current segment."""

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
        source_frames: SourceFrames | None = None,
        jvm_layouts: LayoutCache | None = None,
    ) -> None:
        """`kernel` is called at the first kernel frame. `source_frames`: None if no program reads them.

        `jvm_layouts`: None if Java frames are not read.
        """
        self._packer = packer
        self._walker = walker
        self._max_depth = max_depth
        self._processes = ProcessTable(own_labels)
        self._hotspot = None if jvm_layouts is None else HotspotProcesses(images, jvm_layouts)
        self._frames = FrameResolver(
            packer, images, walker, kernel, self._processes, kernel_build_id=kernel_build_id
        )
        self._source_frames = source_frames
        self._drains = 0
        self.lost_records = 0
        self.samples = 0

    @property
    def seen(self) -> dict[Image, int]:
        """Images with frames in the capture, each with one process that mapped it."""
        return self._frames.seen

    def consumer(self, segment: SegmentCounts, *, has_program: bool = False) -> Callable[[Record], None]:
        """A function for one drain of a sampler that counts its samples in the segment.

        `has_program`: a BPF program writes source-level frames before the samples.
        """
        self._drains += 1
        flat = not segment.message.stacks

        def consume(record: Record) -> None:
            if isinstance(record, Sample):
                self._count(segment, record, flat=flat, has_program=has_program)
            elif isinstance(record, Mapped):
                self._count_early(record.pid, self._processes.map(record))
                if self._source_frames:
                    self._source_frames.map(record.pid, record.path)
            elif isinstance(record, Forked):
                if self._processes.fork(record):
                    self._frames.forget(record.pid)
                if self._source_frames and record.pid != record.parent:
                    self._source_frames.fork(record.pid, record.parent)
            elif isinstance(record, Exited):
                self._count_early(record.pid, self._processes.exit(record))
                if self._source_frames and record.pid == record.tid:
                    self._source_frames.forget(record.pid)
            elif isinstance(record, Renamed):
                if self._processes.exec(record):
                    self._frames.forget(record.pid)
                # Also if /proc was read after it: what is registered may be the parent's interpreter.
                if self._source_frames and record.executed:
                    self._source_frames.forget(record.pid)
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
        if self._hotspot:
            self._hotspot.close()
        self._frames.close()
        if self._source_frames:
            self._source_frames.begin()

    def close(self) -> None:
        """Close the files opened for processes; call it at the end."""
        if self._hotspot:
            self._hotspot.close()
        self._frames.close()
        if self._source_frames:
            self._source_frames.close()

    def notes(self) -> list[str]:
        """Everything that could not be read, as sentences."""
        notes = []
        if self._processes.denied:
            notes.append(
                f"no access to the mappings of {self._processes.denied} processes: the gateway lacks "
                "CAP_SYS_PTRACE or CAP_DAC_READ_SEARCH"
            )
        if self._source_frames:
            notes += self._source_frames.notes()
        if self._hotspot:
            notes += self._hotspot.notes()
        return notes + self._frames.notes()

    def _count(self, segment: SegmentCounts, sample: Sample, *, flat: bool, has_program: bool) -> None:
        self.samples += 1
        process = self._processes.sampled(sample.pid)
        if self._source_frames:
            self._source_frames.watch(sample.pid, process.space)
        if process.generated:
            self._frames.refresh_names(sample.pid, process, self._drains)
        frames, end = self._stack(sample, process, flat=flat, has_program=has_program)
        stack = self._packer.stack(frames, end)
        group = process.group
        if group is None:
            if process.starting and sample.mode == Mode.KERNEL:
                process.early.append((segment, stack))
                return
            group = self._set_group(sample.pid, process)
        segment.counts[group, stack] += 1

    def _set_group(self, pid: int, process: SampledProcess) -> int:
        """Find the group of a process, count its early samples for it and return it."""
        group = process.group = self._group(pid, process)
        for segment, stack in process.early:
            segment.counts[group, stack] += 1
        process.early.clear()
        return group

    def _count_early(self, pid: int, process: SampledProcess | None) -> None:
        """Count the early samples of a process, if it has any."""
        if process is not None and process.early:
            self._set_group(pid, process)

    def count_early(self) -> None:
        """Count samples of programs without a mapping record after their exec."""
        for pid, process in self._processes:
            self._count_early(pid, process)

    def _stack(
        self, sample: Sample, process: SampledProcess, *, flat: bool, has_program: bool
    ) -> tuple[tuple[int, ...], int]:
        source_frames = self._source_frames if has_program else None
        frames = self._frames.kernel_frames(sample.kernel[: self._max_depth])
        if sample.mode in _GUESTS:
            return (self._frames.unknown(),), capture_pb2.STACK_END_NO_MAPPING
        if flat:
            if not frames:
                frames.append(self._user_leaf(sample, process, sample.ip))
            return tuple(frames), capture_pb2.STACK_END_FLAT
        if not sample.registers:
            if source_frames:
                source_frames.count_without_stack(sample.pid)
            if not frames:
                frames.append(self._frames.unknown())
            return tuple(frames), capture_pb2.STACK_END_KERNEL_ONLY
        if sample.compat:
            frames.append(self._user_leaf(sample, process, user_ip(sample)))
            return tuple(frames), capture_pb2.STACK_END_NO_UNWIND
        found = source_frames.take(sample) if source_frames else None
        tops: list[int] | None = None if found is None else []
        walk = self._walk(sample, process, tops)
        user = self._frames.user_frames(sample.pid, process, walk, self._drains)
        end = walk.end
        # In a process with both, frames that the JVM inlined have no place of their own among the native ones.
        if source_frames and found is not None and tops is not None and process.space.hotspot is None:
            native = NativeStack(walk, tops, sample.registers[REGISTER_SP], user)
            user, end = source_frames.merge(sample.pid, found, process, native)
        elif len(user) > self._max_depth:
            end = capture_pb2.STACK_END_TOO_DEEP  # inlined activations exceed the limit that the walk kept
        return tuple(frames + user[: self._max_depth]), end

    def _user_leaf(self, sample: Sample, process: SampledProcess, address: int) -> int:
        return self._frames.user_frame(sample.pid, process, address, self._drains, flags=EXACT)

    def _walk(self, sample: Sample, process: SampledProcess, tops: list[int] | None = None) -> Walk:
        pid, space = sample.pid, process.space
        jvm = self._hotspot.prepare(pid, space, self._drains) if self._hotspot and space.libjvm else None
        walk = self._walk_once(sample, space, tops)
        if walk.end == capture_pb2.STACK_END_NO_MAPPING and self._processes.reread_mappings(
            pid, process, self._drains
        ):
            walk = self._walk_once(sample, space, tops)
        if jvm is not None and jvm.is_outdated(space, walk):
            walk = self._walk_once(sample, space, tops)
        return walk

    def _walk_once(self, sample: Sample, space: AddressSpace, tops: list[int] | None) -> Walk:
        if tops:
            tops.clear()
        return self._walker.walk(
            sample.pid, space, sample.registers, sample.stack, sample.stack_bytes, tops=tops
        )

    def _group(self, pid: int, process: SampledProcess) -> int:
        identity = self._processes.identify(pid, process, records_lost=self.lost_records > 0)
        main = 0
        for vma in process.space.vmas:
            if identity.exe and vma.path == identity.exe:
                main = 1 + self._packer.image(self._frames.user_image(pid, vma))
                break
        return self._packer.group(GroupKey(identity, main), pid)
