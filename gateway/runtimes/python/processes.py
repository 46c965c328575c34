"""The Python processes of one capture: found by their mappings, registered with the BPF programs, their frames named."""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from gateway.errors import RuntimeUnsupported
from gateway.runtimes.python import frame_records
from gateway.runtimes.python.code_objects import CodeObjects
from gateway.runtimes.python.frame_records import RawCode, RawFrames
from gateway.runtimes.python.interpreter_file import InterpreterFile, read_interpreter
from gateway.runtimes.python.merge import FIRST_OWN_OWNER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.process.images import Image, Images
    from gateway.process.maps import Vma
    from gateway.runtimes.python.layouts import Layout
    from gateway.runtimes.python.programs import ProgramPool
    from gateway.unwind.elf import ElfLayout

_ABSENT: Final = 0xFFFF
_PROCESS: Final = struct.Struct("<3Q7I17H4B6x")
# Budget of each process for copies of code objects: a large application has 20,000 of some 1.2 KB, a start meets a
# thousand a second.
_CODE_BYTES_PER_SECOND: Final = 512 << 10
_CODE_BYTES: Final = 16 << 20
# Copies of all processes of a capture that are kept; in memory a code object takes about twice its copy.
_CODE_BYTES_KEPT: Final = 24 << 20
_MAX_PROCESSES: Final = 1024
_MAX_FILES: Final = 64
_MAX_REASONS: Final = 8
# With so many copies refused and none accepted, the layout is not that of the process.
_REFUSED: Final = 16
_ADDRESSES: Final = (1 << 64) - 1
_MUSL: Final = "ld-musl-"

_TOO_EARLY: Final = "its process was not registered yet"
NO_FRAME: Final = "C code of a Python thread without a Python caller"
NO_USER_STACK: Final = "without a user stack, as when a process ends"
_OUTSIDE: Final = {
    frame_records.NO_STATE: "a thread that does not run Python, or the interpreter starts or ends",
    frame_records.NO_FRAME: NO_FRAME,
}

_FileKey = tuple[tuple[int, int], int, bytes, str]


class PythonProcess:
    """A registered process.

    - `frames`: the capture's frames by code object and instruction; None: no call.
    - `registered_at`: time (CLOCK_MONOTONIC, ns) from which the programs read it; a child's frames also before, with the
      registration of its parent.
    """

    __slots__ = ("codes", "file", "frames", "generation", "path", "registered_at")

    def __init__(self, file: InterpreterFile, path: str, bias: int, generation: int) -> None:
        self.file = file
        self.path = path
        self.generation = generation
        self.registered_at = 0
        code, text, _ = file.types
        self.codes = CodeObjects(file.layout, ((code + bias) & _ADDRESSES, (text + bias) & _ADDRESSES))
        self.frames: dict[int, dict[int, int | None]] = {}

    @property
    def version(self) -> tuple[int, int]:
        """Major and minor version of CPython."""
        return self.file.layout.version


class _Registration(NamedTuple):
    process: PythonProcess
    value: bytes
    """`struct process`."""


class Counts(NamedTuple):
    """Samples of Python's processes: with all frames, without, by the reason, and outside Python code, by the kind."""

    complete: int
    reasons: dict[str, int]
    outside: dict[str, int]


class PythonProcesses:
    """Registers processes of one capture, and interprets the records about them. Not thread-safe."""

    def __init__(self, images: Images, pool: ProgramPool) -> None:
        self._images = images
        self._pool = pool
        self.capture: Final = int.from_bytes(os.urandom(4))
        """Key of this capture in the programs' maps."""
        self._files: dict[_FileKey, InterpreterFile | str | None] = {}
        self._registered: dict[int, _Registration] = {}
        self._looked: set[int] = set()
        self._unsupported: defaultdict[str, set[int]] = defaultdict(set)
        self._kept_bytes = 0
        self._complete = 0
        self._reasons: Counter[str] = Counter()
        self._outside: Counter[str] = Counter()
        self._left_out = 0

    def close(self) -> None:
        """Remove all registrations."""
        for pid in tuple(self._registered):
            self.forget(pid)

    def find(self, pid: int) -> PythonProcess | None:
        """The registered process of that number."""
        registration = self._registered.get(pid)
        return None if registration is None else registration.process

    def watch(self, pid: int, vmas: Sequence[Vma]) -> None:
        """Register a process if an interpreter is among its executable mappings; once for each number and program."""
        # During exec there is no mapping yet.
        if pid in self._looked or not vmas:
            return
        self._looked.add(pid)
        try:
            found = self._interpreter(pid, vmas)
        except RuntimeUnsupported as reason:
            if len(self._unsupported) < _MAX_REASONS:
                self._unsupported[str(reason)].add(pid)
            return
        if found is None:
            return
        if len(self._registered) >= _MAX_PROCESSES:
            self._left_out += 1
            return
        file, path, bias = found
        generation = int.from_bytes(os.urandom(4))
        process = PythonProcess(file, path, bias, generation)
        self._register(
            pid, _Registration(process, packed(file.layout, (file.runtime + bias) & _ADDRESSES, generation))
        )

    def fork(self, pid: int, parent: int) -> None:
        """Register the child of a registered process, which has the memory of its parent."""
        self.forget(pid)
        registration = self._registered.get(parent)
        if registration is None:
            return
        self._looked.add(pid)
        if len(self._registered) >= _MAX_PROCESSES:
            self._left_out += 1
            return
        before = registration.process
        process = PythonProcess(before.file, before.path, 0, before.generation)
        process.codes, process.frames = before.codes, before.frames
        self._register(pid, _Registration(process, registration.value))

    def forget(self, pid: int) -> None:
        """Unregister a process that ended or runs another program, and look at the number again."""
        self._looked.discard(pid)
        if self._registered.pop(pid, None) is not None:
            self._pool.unregister(self.capture, pid)

    def learn(self, pid: int, raw: RawCode) -> None:
        """Take the copy of a code object."""
        process = self._of(pid, raw.generation)
        if process is None or self._kept_bytes >= _CODE_BYTES_KEPT:
            return
        # Another object may lie at the address of a former one.
        process.frames.pop(raw.address, None)
        if process.codes.learn(raw):
            self._kept_bytes += len(raw.name) + len(raw.file) + len(raw.head) + len(raw.table)
        elif process.codes.refused >= _REFUSED and not len(process.codes):
            version = ".".join(map(str, process.version))
            reason = f"{process.path} does not have the memory layout of CPython {version} (a build of another kind)"
            self._unsupported[reason].add(pid)
            self.forget(pid)
            self._looked.add(pid)

    def check(self, pid: int, time_ns: int, raw: RawFrames) -> PythonProcess | None:
        """The process of a sample whose frames can all be named; None: its stack stays native, and is counted."""
        process = self._of(pid, raw.generation)
        if process is None:
            # Read with the registration of its parent, or with its own of another program.
            self.count_missing(pid, time_ns, "its process was registered anew")
            return None
        if (outside := _OUTSIDE.get(raw.status)) is not None:
            self._outside[outside] += 1
            return None
        if raw.status == frame_records.NO_THREAD_STATE:
            self._reasons["its thread state was not found"] += 1
            return None
        if raw.status == frame_records.BROKEN:
            self._reasons["its chain of frames is broken or not in memory"] += 1
            return None
        own = FIRST_OWN_OWNER if process.version >= (3, 12) else 16
        codes = process.codes
        for frame in raw.frames:
            if frame.owner < own and frame.address not in codes:
                self._reasons["a code object was not copied, for its budget or because it was gone"] += 1
                return None
        return process

    def count(self, *, fits: bool) -> None:
        """Count a sample whose frames were named; `fits`: they were merged with the native stack."""
        if fits:
            self._complete += 1
        else:
            self._reasons["its frames did not fit the native stack"] += 1

    def count_missing(self, pid: int, time_ns: int, reason: str) -> None:
        """Count a sample without a record of its own, if its process has an interpreter; `reason`: if registered."""
        process = self.find(pid)
        if process is not None:
            self._reasons[_TOO_EARLY if time_ns < process.registered_at else reason] += 1

    def count_outside(self, pid: int, kind: str) -> None:
        """Count a sample that has no Python frames, if its process has an interpreter."""
        if pid in self._registered:
            self._outside[kind] += 1

    @property
    def counts(self) -> Counts:
        """Samples so far."""
        return Counts(self._complete, dict(self._reasons), dict(self._outside))

    def notes(self) -> list[str]:
        """What could not be read, as sentences."""
        notes = [
            f"Python frames of {len(pids)} processes are not read: {reason}"
            for reason, pids in self._unsupported.items()
        ]
        if self._left_out:
            notes.append(
                f"Python frames of {self._left_out} processes were not read: a capture registers {_MAX_PROCESSES} at most"
            )
        if lost := self._reasons.total():
            notes.append(
                f"{lost} of {lost + self._complete} samples in Python code have native frames only "
                f"({_listed(self._reasons)})"
            )
        if outside := self._outside.total():
            notes.append(
                f"{outside} samples of Python's processes are not in Python code ({_listed(self._outside)})"
            )
        return notes

    def _of(self, pid: int, generation: int) -> PythonProcess | None:
        registration = self._registered.get(pid)
        if registration is None or registration.process.generation != generation:
            return None
        return registration.process

    def _register(self, pid: int, registration: _Registration) -> None:
        if self._pool.register(self.capture, pid, registration.value):
            self._registered[pid] = registration
            registration.process.registered_at = time.monotonic_ns()
        else:
            self._left_out += 1

    def _interpreter(self, pid: int, vmas: Sequence[Vma]) -> tuple[InterpreterFile, str, int] | None:
        """The interpreter's file, its path, and the distance of its addresses from those of the file."""
        for vma in _candidates(vmas):
            image = self._images.open(pid, vma)
            elf = image.layout
            file = None if elf is None else self._read(vma, image, elf)
            if elf is None or file is None:
                continue
            if any(_name(other).startswith(_MUSL) for other in vmas):
                raise RuntimeUnsupported(
                    "the C library is musl, under which threads are laid out in another way"
                )
            bias = _bias(vma, elf)
            if bias is not None:
                return file, vma.path, bias
        return None

    def _read(self, vma: Vma, image: Image, elf: ElfLayout) -> InterpreterFile | None:
        key: _FileKey = (vma.device, vma.inode, vma.build_id or image.build_id, vma.path)
        if key not in self._files:
            if len(self._files) >= _MAX_FILES:
                self._files.clear()
            try:
                self._files[key] = read_interpreter(_name(vma), elf, image.read)
            except RuntimeUnsupported as reason:
                self._files[key] = str(reason)
        found = self._files[key]
        if isinstance(found, str):
            raise RuntimeUnsupported(found)
        return found


def _listed(counts: Counter[str]) -> str:
    return "; ".join(f"{count}: {reason}" for reason, count in counts.most_common())


def _name(vma: Vma) -> str:
    return vma.path.rpartition("/")[2]


def _candidates(vmas: Sequence[Vma]) -> list[Vma]:
    """Mappings that may be of an interpreter: libraries and programs by their name, else the program itself."""
    files = [vma for vma in vmas if vma.has_file]
    named = [vma for vma in files if "python" in _name(vma)]
    # A program linked with libpython is called python, too; and every extension module has "cpython" in its name.
    named = [vma for vma in named if ".cpython-" not in vma.path]
    named.sort(key=lambda vma: not _name(vma).startswith("libpython"))
    return named or files[:1]


def _bias(vma: Vma, elf: ElfLayout) -> int | None:
    """The distance of a file's addresses in the process from those in the file, by one executable mapping of it."""
    for segment in elf.segments:
        # The kernel maps whole pages: a mapping begins before its segment if that is not aligned.
        start = segment.offset & -mmap.PAGESIZE
        if segment.executable and start <= vma.offset < segment.offset + segment.size:
            return (vma.start - (segment.address - segment.offset + vma.offset)) & _ADDRESSES
    return None


def packed(layout: Layout, runtime: int, generation: int) -> bytes:
    """`struct process` of python_frames.bpf.c, for an interpreter whose `_PyRuntime` is at `runtime`."""

    def at(offset: int | None) -> int:
        return _ABSENT if offset is None else offset

    within = (
        layout.frame_previous,
        layout.frame_code,
        layout.frame_instruction,
        layout.frame_owner or 0,
        layout.frame_is_entry or 0,
    )
    return _PROCESS.pack(
        0 if layout.current is None else (runtime + layout.current) & _ADDRESSES,
        (runtime + layout.runtime_interpreters) & _ADDRESSES, 0,
        0, _CODE_BYTES_PER_SECOND, _CODE_BYTES, generation,
        0, layout.interpreter_next, layout.interpreter_threads,
        layout.thread_next, layout.thread_id, at(layout.thread_frame), at(layout.thread_cframe),
        at(layout.cframe_frame), at(layout.cframe_previous), (max(within) & ~7) + 8, *within,
        layout.code_size, layout.code_name, layout.code_file, layout.code_table, layout.code_first_line,
        0x0F if layout.frame_owner is not None else 0, 1 if layout.frame_is_entry is not None else 0,
        FIRST_OWN_OWNER if layout.version >= (3, 12) else 16, 0,
    )  # fmt: skip
