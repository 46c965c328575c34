"""Kernel addresses as (image, offset): the kernel relative to _stext, modules to their .text base.

Names are shipped only for code that exists in this boot alone (BPF programs, ftrace trampolines). The function starts
of the 120 000 symbols of a common kernel take 0.5 MiB and 75 ms of CPU: once per process, at the first kernel frame,
and again in a later capture with run-time code.
"""

import re
import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from gateway.machine.kernel_files import names_in, read_line, read_number, read_text

_READ_BYTES: Final = 1 << 16
# "<address> <type> <name>[\t[<module>]]": code symbols, weak ones included
_SYMBOL: Final = re.compile(rb"^([0-9a-f]{1,16}) [tTwW] ", re.MULTILINE)
_CORE_SYMBOL: Final = re.compile(rb"^([0-9a-f]{1,16}) [tTwW] [^\t\n]+$", re.MULTILINE)
_MODULE_SYMBOL: Final = re.compile(rb"^([0-9a-f]{1,16}) [tTwW] ([^\t\n]+)\t\[([^\]\n]+)\]$", re.MULTILINE)
_BOUND: Final = re.compile(rb"^([0-9a-f]{1,16}) \w (_stext|_etext)$", re.MULTILINE)
_NT_GNU_BUILD_ID: Final = 3
_ADDRESS: Final = re.compile(r"(?:0x)?[0-9a-fA-F]{1,16}")
_MAX_NOTES_BYTES: Final = 1 << 16
# Offsets in the kernel's text have 32 bits.
_LARGEST_TEXT: Final = 1 << 32
# Pseudo modules of kallsyms: code that the kernel generates at run time, known by name only.
_RUNTIME_CODE: Final = frozenset({"bpf", "__builtin__ftrace", "__builtin__kprobes"})
# A single BPF program is not larger and does not cross the end of its pack of programs, and a trampoline has a page of
# its own; beyond that the nearest symbol would be a guess.
_LARGEST_PROGRAM: Final = 1 << 16
_PROGRAM_PACK: Final = 1 << 21
_PAGE: Final = 1 << 12
_PROGRAMS: Final = "bpf"


class KernelLocation(NamedTuple):
    """Location of a kernel address. A named tuple: a dataclass takes three times as long to create.

    `module` is "" for the kernel itself and None for an unknown address; `name` is set only for run-time code.
    `function_offset` is the start of the function in the same space as `offset`.
    """

    module: str | None
    offset: int
    function_offset: int | None
    name: str = ""


UNKNOWN_LOCATION: Final = KernelLocation(None, 0, None)


@dataclass(frozen=True, slots=True)
class Module:
    """A loaded module: its .text base, the maximum size of its code, and its build-id (may be empty)."""

    name: str
    base: int
    size: int
    build_id: bytes


# Start and end of the text, its functions' offsets, and the functions' addresses by module: arrays as bytes.
SavedKernelMap: TypeAlias = tuple[int, int, bytes, dict[str, bytes]]


class KernelMap:
    """Addresses of the running kernel. Empty if the kernel hides them (no CAP_SYSLOG)."""

    def __init__(self, kallsyms: Iterable[bytes], modules: Iterable[Module]) -> None:
        """`kallsyms` in pieces of any size."""
        self._text_start = 0
        self._text_end = 0
        # Offsets from _stext, ascending. 32 bits hold them: the kernel's text lies in 2 GiB.
        self._starts = array("I")
        self._runtime: list[tuple[int, str]] = []
        self._modules = {module.name: module for module in modules if module.base}
        self._module_starts: dict[str, array[int]] = {name: array("Q") for name in self._modules}
        self._read(kallsyms)
        self._ranges = sorted((m.base, m.base + m.size, m.name) for m in self._modules.values())
        self._read_rest: Callable[[], KernelMap] | None = None
        self._runtime_is_new = True

    @classmethod
    def from_saved(
        cls, saved: SavedKernelMap, modules: Iterable[Module], read: Callable[[], "KernelMap"]
    ) -> "KernelMap":
        """The map that `saved` was taken from. `read` reads the whole map again when run-time code occurs."""
        kernel = cls((), modules)
        kernel._text_start, kernel._text_end, starts, module_starts = saved
        kernel._starts = array("I", starts)
        kernel._module_starts |= {name: array("Q", found) for name, found in module_starts.items()}
        kernel._read_rest = read
        return kernel

    def saved(self) -> SavedKernelMap:
        """The part that is constant while the same modules are loaded: everything except run-time code."""
        modules = {name: starts.tobytes() for name, starts in self._module_starts.items()}
        return self._text_start, self._text_end, self._starts.tobytes(), modules

    @property
    def readable(self) -> bool:
        """Whether the kernel showed its addresses."""
        return self._text_end > self._text_start > 0

    @property
    def text(self) -> tuple[int, int] | None:
        """Start and end of the kernel's own code in this boot; None: hidden."""
        return (self._text_start, self._text_end) if self.readable else None

    @property
    def runtime_code(self) -> list[tuple[int, str]]:
        """Addresses and names of BPF programs and trampolines, ascending; "" ends the previous entry."""
        return self._runtime

    def modules(self) -> Mapping[str, Module]:
        """Modules with a known base, by name."""
        return self._modules

    def find(self, address: int, *, exact: bool) -> KernelLocation:
        """The location of an instruction pointer; a return address (`exact` false) is looked up one byte earlier."""
        lookup = address if exact else address - 1
        if self._text_start <= lookup < self._text_end:
            offset = lookup - self._text_start
            at = bisect_right(self._starts, offset) - 1
            return KernelLocation("", address - self._text_start, self._starts[at] if at >= 0 else None)
        at = bisect_right(self._ranges, (lookup, 1 << 64, "")) - 1
        if at >= 0 and lookup < self._ranges[at][1]:
            base, _, name = self._ranges[at]
            starts = self._module_starts[name]
            nearest = bisect_right(starts, lookup) - 1
            start = starts[nearest] - base if nearest >= 0 and starts[nearest] >= base else None
            return KernelLocation(name, address - base, start)
        if self._read_rest is not None:
            self._runtime, self._read_rest = self._read_rest().runtime_code, None
            self._runtime_is_new = False
        at = bisect_right(self._runtime, (lookup, "\U0010ffff")) - 1
        if at >= 0 and lookup < _end_of_runtime_code(*self._runtime[at]):
            return KernelLocation(None, 0, None, self._runtime[at][1])
        return UNKNOWN_LOCATION

    def forget_runtime_code(self, read: "Callable[[], KernelMap] | None" = None) -> None:
        """Read run-time code again on its next use; call it at the start of a capture. A fresh map is used once more.

        Programs come and go while modules stay. A program loaded later during the capture has no name, or that of a
        program shortly below it.
        """
        if self._runtime_is_new:
            self._runtime_is_new = False
        elif self._read_rest is None:
            self._read_rest = read or read_kernel_map

    def _read(self, pieces: Iterable[bytes]) -> None:
        core: array[int] = array("Q")
        tail = b""
        for piece in pieces:
            lines = tail + piece
            end = lines.rfind(b"\n") + 1
            tail, lines = lines[end:], lines[:end]
            with_modules = b"\t[" in lines
            symbols = (_CORE_SYMBOL if with_modules else _SYMBOL).findall(lines)
            core.extend([int(address, 16) for address in symbols])
            if with_modules:
                self._read_modules(lines)
            if b"_stext\n" in lines or b"_etext\n" in lines:
                for address, name in _BOUND.findall(lines):
                    if name == b"_stext":
                        self._text_start = int(address, 16)
                    else:
                        self._text_end = int(address, 16)
        if self.readable:
            start, end = self._text_start, self._text_end
            self._starts = array(
                "I",
                (address - start for address in core if start <= address < min(end, start + _LARGEST_TEXT)),
            )
            if any(later < earlier for earlier, later in pairwise(self._starts)):
                self._starts = array("I", sorted(self._starts))
        self._runtime.sort()
        for name, starts in self._module_starts.items():
            self._module_starts[name] = array("Q", sorted(set(starts)))

    def _read_modules(self, lines: bytes) -> None:
        for address, name, owner in _MODULE_SYMBOL.findall(lines):
            module = owner.decode("ascii", "replace")
            value = int(address, 16)
            if module in _RUNTIME_CODE:
                if value:
                    self._runtime.append((value, name.decode("ascii", "replace")))
            elif module in self._module_starts:
                self._module_starts[module].append(value)
            elif value:
                # A module with a hidden base: addresses above this symbol are not part of the trampoline before it.
                self._runtime.append((value, ""))


def _end_of_runtime_code(start: int, name: str) -> int:
    """The latest possible end of run-time code, unless another symbol follows earlier."""
    if name.startswith(_PROGRAMS):
        return min(start + _LARGEST_PROGRAM, (start // _PROGRAM_PACK + 1) * _PROGRAM_PACK)
    return start + _PAGE


def read_kernel_map(proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> KernelMap:
    """The running kernel's map. An unreadable kallsyms gives an empty one."""
    try:
        with (proc / "kallsyms").open("rb", buffering=0) as file:
            return KernelMap(iter(lambda: file.read(_READ_BYTES), b""), read_modules(sys))
    except OSError:
        return KernelMap((), ())


def read_modules(sys: Path = Path("/sys")) -> list[Module]:
    """Loaded modules; base 0 if the kernel hides it. Built-in ones have no sections and are omitted."""
    root = f"{sys}/module"
    modules = []
    for name in names_in(root):
        size = read_number(f"{root}/{name}/coresize")
        if size < 0:
            continue
        base = read_line(f"{root}/{name}/sections/.text")
        notes = _bytes(sys / "module" / name / "notes" / ".note.gnu.build-id")
        address = int(base, 16) if _ADDRESS.fullmatch(base) else 0
        modules.append(Module(name, address, size, build_id_of_notes(notes)))
    return modules


class LoadedModules:
    """The loaded modules, read again only when /proc/modules has changed.

    A module has three files in /sys, a server some 150 modules: otherwise 10 ms of every capture.
    """

    def __init__(self, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> None:
        """Nothing is read yet."""
        self._list = f"{proc}/modules"
        self._sys = sys
        self._seen: frozenset[tuple[str, ...]] | None = None
        self._modules: list[Module] = []

    def read(self) -> list[Module]:
        """The currently loaded modules; the same list object while nothing has changed."""
        # Name, size, state and address; users come and go without a change of the module.
        lines = [line.split() for line in read_text(self._list).splitlines()]
        seen = frozenset((*fields[:2], *fields[-2:]) for fields in lines)
        if seen != self._seen:
            self._modules = read_modules(self._sys)
            self._seen = seen
        return self._modules


def read_kernel_build_id(sys: Path = Path("/sys")) -> bytes:
    """GNU build-id of the running kernel; empty if it has none or is unreadable."""
    return build_id_of_notes(_bytes(sys / "kernel" / "notes"))


def build_id_of_notes(notes: bytes) -> bytes:
    """The GNU build-id in a sequence of ELF notes (gABI, "Note Section"); empty if there is none."""
    at = 0
    while at + 12 <= len(notes):
        name_bytes, bytes_, kind = struct.unpack_from("<III", notes, at)
        name_at = at + 12
        value_at = name_at + (name_bytes + 3 & ~3)
        at = value_at + (bytes_ + 3 & ~3)
        if kind == _NT_GNU_BUILD_ID and notes[name_at : name_at + name_bytes] == b"GNU\0":
            return notes[value_at : value_at + bytes_] if value_at + bytes_ <= len(notes) else b""
    return b""


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_NOTES_BYTES)
    except OSError:
        return b""
