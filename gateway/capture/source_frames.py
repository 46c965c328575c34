"""Source-level frames of one capture: joins what BPF programs read with the native stacks (gateway/runtimes)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from fleetpb import capture_pb2
from gateway.capture.packer import EXACT, PYTHON, FrameKey, Image
from gateway.errors import AccessDenied, ProcessGone
from gateway.process.maps import read_executable_maps
from gateway.runtimes.python import frame_records
from gateway.runtimes.python.frame_records import RawCode, RawFrame, RawFrames, parse_record
from gateway.runtimes.python.merge import merged, place_by_count, place_by_marks, place_cut, runs_of
from gateway.runtimes.python.processes import NO_FRAME, NO_USER_STACK, PythonProcesses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.capture.packer import Packer
    from gateway.capture.process_table import SampledProcess
    from gateway.perf.records import Sample
    from gateway.process.address_space import AddressSpace
    from gateway.process.images import Images
    from gateway.process.walker import Walk
    from gateway.runtimes.python.processes import PythonProcess
    from gateway.runtimes.python.programs import ProgramPool

_PYTHON_IMAGE: Final = Image(capture_pb2.Mapping.ANONYMOUS, PYTHON)
# From the interrupt, whose time the sample has, to the program's record: some microseconds.
_MAX_DELAY_NS: Final = 1_000_000
_COMPLETE: Final = int(capture_pb2.STACK_END_COMPLETE)
_TOO_DEEP: Final = int(capture_pb2.STACK_END_TOO_DEEP)
_MAX_PRESCANNED: Final = 4096
# Instructions of one code object whose frames are remembered.
_MAX_INSTRUCTIONS: Final = 1024


class NativeStack(NamedTuple):
    """A walked user stack: `tops` as Walker.walk gives them, `frames` those of the packer."""

    walk: Walk
    tops: list[int]
    stack_pointer: int
    frames: list[int]


class SourceFrames:
    """Replaces the interpreter's C frames by the Python frames that they run. Not thread-safe; close it."""

    def __init__(
        self, packer: Packer, images: Images, pool: ProgramPool, *, max_depth: int, keep: bool
    ) -> None:
        """`keep`: the C frames stay, as callers of the Python frames."""
        self._packer = packer
        self._images = images
        self._max_depth = max_depth
        self._keep = keep
        self._python = PythonProcesses(images, pool)
        self.capture: Final = self._python.capture
        """Key of this capture in the programs' maps."""

    def close(self) -> None:
        """Unregister all processes."""
        self._python.close()

    def begin(self) -> None:
        """Register the running interpreters, so that their first samples have frames.

        A program that embeds an interpreter under another name is registered at its first sample.
        """
        self._python.close()
        for pid in _interpreters():
            try:
                self._python.watch(pid, read_executable_maps(pid))
            except (ProcessGone, AccessDenied):
                continue

    def watch(self, pid: int, space: AddressSpace) -> None:
        """Register a process at its first sample."""
        self._python.watch(pid, space.vmas)

    def map(self, pid: int, path: str) -> None:
        """Look again at a process that mapped what may be an interpreter."""
        if "python" in path.rpartition("/")[2] and self._python.find(pid) is None:
            self._python.forget(pid)

    def fork(self, pid: int, parent: int) -> None:
        """Register the child of a registered process."""
        self._python.fork(pid, parent)

    def forget(self, pid: int) -> None:
        """Drop a process that ended or runs another program."""
        self._python.forget(pid)

    def take(self, sample: Sample) -> tuple[PythonProcess, RawFrames] | None:
        """Learn what the programs wrote since the last sample; the frames of this one, if all can be named."""
        frames: RawFrames | None = None
        of_another = False
        for output in sample.outputs:
            record = parse_record(output.data)
            if isinstance(record, RawCode):
                self._python.learn(output.pid, record)
            elif (
                record is not None
                and output.tid == sample.tid
                and output.pid == sample.pid
                and 0 <= output.time - sample.time < _MAX_DELAY_NS
            ):
                frames = record
            elif record is not None:
                of_another = True
        if frames is None:
            reason = "the record before it is of another thread or time" if of_another else "it has no record"
            self._python.count_missing(sample.pid, sample.time, reason)
            return None
        process = self._python.check(sample.pid, sample.time, frames)
        return None if process is None else (process, frames)

    def merge(
        self, pid: int, found: tuple[PythonProcess, RawFrames], sampled: SampledProcess, native: NativeStack
    ) -> tuple[list[int], int]:
        """The user part of a stack with its Python frames, and how it ends; as it is if they do not fit."""
        process, raw = found
        walk = native.walk
        version = process.version
        is_cut = raw.status == frame_records.TOO_DEEP
        runs = runs_of(version, raw.frames)
        if not any(run.frames for run in runs):
            self._python.count_outside(pid, NO_FRAME)
            return native.frames, walk.end
        evaluation = self._evaluation(process, sampled, walk) if is_cut or version == (3, 9) else []
        if version == (3, 9):
            places = place_by_count(evaluation, complete=walk.end == _COMPLETE and not is_cut, runs=runs)
        else:
            places = place_by_marks(native.tops, native.stack_pointer, runs)
        if is_cut and places is not None:
            places = place_cut(places, evaluation)
        self._python.count(fits=places is not None)
        if places is None:
            return native.frames, walk.end

        def frame_of(frame: RawFrame) -> int | None:
            try:
                return process.frames[frame.address][frame.instruction]
            except KeyError:
                found = self._frame(process, frame)
                known = process.frames.setdefault(frame.address, {})
                if len(known) >= _MAX_INSTRUCTIONS:
                    known.clear()
                known[frame.instruction] = found
                return found

        stack = merged(native.frames, places, frame_of, keep=self._keep, is_cut=is_cut)
        if is_cut or len(stack) > self._max_depth:
            return stack[: self._max_depth], _TOO_DEEP
        return stack, walk.end

    def count_without_stack(self, pid: int) -> None:
        """Count a sample that has no user part, which is not an omission."""
        self._python.count_outside(pid, NO_USER_STACK)

    def notes(self) -> list[str]:
        """What could not be read, as sentences."""
        return self._python.notes()

    def _frame(self, process: PythonProcess, raw: RawFrame) -> int | None:
        frame = process.codes.frame(raw.address, raw.instruction)
        assert frame is not None  # PythonProcesses.check
        if not process.codes.is_call(frame):
            return None
        mapping = self._packer.image(_PYTHON_IMAGE)
        return self._packer.frame(
            FrameKey(mapping, 0, 0, EXACT, frame.function, frame.file, frame.line, frame.first_line)
        )

    def _evaluation(self, process: PythonProcess, sampled: SampledProcess, walk: Walk) -> list[bool]:
        """Which native frames are in the interpreter's function, as far as the file's symbols tell."""
        start, end = process.file.evaluation
        found = []
        for place, address in enumerate(walk.addresses):
            lookup = address if place in walk.exact else address - 1
            vma = sampled.space.find(lookup)
            found.append(
                vma is not None
                and vma.path == process.path
                and start <= lookup - vma.start + vma.offset < end
            )
        return found


def _interpreters() -> Iterator[int]:
    """Processes whose program's name has "python" in it: one system call for each process of the machine."""
    with os.scandir("/proc") as entries:
        processes = [entry.name for entry in entries if entry.name.isdigit()]
    for name in processes[:_MAX_PRESCANNED]:
        try:
            program = Path(f"/proc/{name}/exe").readlink()
        except OSError:
            continue
        if "python" in program.name:
            yield int(name)
