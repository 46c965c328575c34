"""Names for addresses printed by `perf script`, by binutils alone, without the product's code.

perf prints the symbol at an address. In a file with debug information the product's leaf is the innermost inlined call,
so `addr2line --inlines` resolves the same, as perf itself does without --no-inline (but once for all addresses, which
is thousands of times faster). A function without a symbol is identified by its start, which `readelf` reads from the
unwind table.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchmarks.agreement.peer import Frame

KERNEL: Final = "[kernel]"
_PERF_KERNEL: Final = "[kernel.kallsyms]"
_UNNAMED: Final = "[unknown]"
_DEBUG_ROOT: Final = Path("/usr/lib/debug/.build-id")
_LOAD: Final = re.compile(r"^\s+LOAD\s+0x(\w+)\s+0x(\w+)\s+0x\w+\s+0x(\w+)", re.MULTILINE)
_FDE: Final = re.compile(r"FDE cie=\w+ pc=(\w+)\.\.(\w+)")
_BUILD_ID: Final = re.compile(r"Build ID: ([0-9a-f]+)")
_SYMBOL: Final = re.compile(r"^([0-9a-f]+) [tTwWiu] (.+)$", re.MULTILINE)
# Suffixes of copies of a function by GCC and LLVM; debug information names the function.
_COPY: Final = re.compile(r"(\.(cold|isra|part|constprop|lto_priv|llvm|localalias|warm)(\.\d+)*)+$")
_BLANKS: Final = re.compile(r"\s*([<>])\s*")
_VERSION: Final = re.compile(r"@.*$")


class Function(NamedTuple):
    """Unit of comparison: the function's name and the base name of its file."""

    name: str
    binary: str


def plain(name: str) -> str:
    """The name without a suffix of a compiler's copy, and without blanks that only GNU's demangler emits."""
    return _BLANKS.sub(r"\1", _COPY.sub("", name) or name)


class Namer:
    """Resolves the functions at addresses, outermost last; caches files.

    `copies` maps base names of copied files to the originals. The product distinguishes nameless functions by
    build-id, so it may attribute one to the original, if that ran too.
    """

    def __init__(self, copies: Mapping[str, str]) -> None:
        self._copies = copies
        self._files: dict[str, _File | None] = {}
        self._known: dict[Frame, tuple[Function, ...]] = {}
        self._kernel_aliases: dict[str, str] | None = None

    def learn(self, frames: Iterable[Frame]) -> None:
        """Resolve all these frames at once."""
        by_file: defaultdict[str, set[Frame]] = defaultdict(set)
        for frame in frames:
            if frame not in self._known:
                by_file[frame.dso].add(frame)
        for dso, places in by_file.items():
            file = self._file(dso)
            inlined = file.inlined({place.ip for place in places}) if file else {}
            for place in places:
                self._known[place] = self._functions(place, file, inlined.get(place.ip, ()))

    def functions(self, frame: Frame) -> tuple[Function, ...]:
        """The calls at an address, innermost first; at least one."""
        return self._known[frame]

    def same(self, function: Function) -> Function:
        """One name for all names of an address, so that aliases compare as equal."""
        if copy := self._copies.get(function.binary):
            name = function.name
            nameless = name.startswith(f"{function.binary}+0x")
            function = Function(copy + name.removeprefix(function.binary) if nameless else name, copy)
        if function.binary == KERNEL:
            return Function(self._kernel().get(function.name, function.name), KERNEL)
        for file in self._files.values():
            if file is not None and file.path.name == function.binary:
                name = plain(function.name)
                return Function(file.aliases.get(name, name), function.binary)
        return Function(plain(function.name), function.binary)

    def _functions(self, frame: Frame, file: _File | None, inlined: tuple[str, ...]) -> tuple[Function, ...]:
        if frame.dso == _PERF_KERNEL:
            return (Function(frame.symbol, KERNEL),)
        binary = frame.dso.rpartition("/")[2]
        if inlined:
            return tuple(Function(name, binary) for name in inlined)
        if frame.symbol == _UNNAMED and file is not None:
            start = file.function_start(frame.ip)
            return (Function(f"{binary}+{frame.ip if start is None else start:#x}", binary),)
        return (Function(file.full_name(frame.ip, frame.symbol) if file else frame.symbol, binary),)

    def _file(self, dso: str) -> _File | None:
        if dso not in self._files:
            path = Path(dso)
            self._files[dso] = _File(path) if dso.startswith("/") and path.is_file() else None
        return self._files[dso]

    def _kernel(self) -> dict[str, str]:
        if self._kernel_aliases is None:
            self._kernel_aliases = _aliases(Path("/proc/kallsyms").read_text())
        return self._kernel_aliases


@dataclass(frozen=True, slots=True)
class _Load:
    offset: int
    address: int
    size: int


class _File:
    """An ELF file as binutils read it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        output = _run("readelf", "--wide", "--segments", "--sections", "--notes", path)
        self._loads = [_Load(*(int(text, 16) for text in found)) for found in _LOAD.findall(output)]
        build_id = _BUILD_ID.search(output)
        separate = _DEBUG_ROOT / build_id[1][:2] / f"{build_id[1][2:]}.debug" if build_id else None
        self._debug = separate if separate is not None and separate.is_file() else path
        self._has_debug_data = self._debug is separate or " .debug_info " in output
        symbols = _run("nm", "--demangle", path) + _run("nm", "--demangle", "--dynamic", path)
        if self._debug != path:
            symbols += _run("nm", "--demangle", self._debug)
        self.aliases = _aliases(symbols)
        self._symbols = sorted(
            (int(address, 16), _VERSION.sub("", name)) for address, name in _SYMBOL.findall(symbols)
        )
        self._entries: tuple[list[int], list[int]] | None = None

    def inlined(self, offsets: set[int]) -> Mapping[int, tuple[str, ...]]:
        """The calls at each file offset with debug information, innermost first."""
        if not self._has_debug_data:
            return {}
        asked = sorted(offsets)
        addresses = [self._address(offset) for offset in asked]
        output = subprocess.run(
            ["addr2line", "--exe", str(self._debug), "--functions", "--inlines", "--demangle", "--addresses"],
            input="\n".join(f"{address:#x}" for address in addresses),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        # Each address is a line 0x…, followed by two lines per call: function, source position.
        answers = re.split(r"^0x[0-9a-f]+\n", output, flags=re.MULTILINE)[1:]
        assert len(answers) == len(asked)
        names = [tuple(answer.splitlines()[::2]) for answer in answers]
        sources = [answer.splitlines()[1::2] for answer in answers]
        return {
            offset: called
            for offset, called, source in zip(asked, names, sources, strict=True)
            if "??" not in called and not source[0].startswith("??")
        }

    def full_name(self, offset: int, symbol: str) -> str:
        """The name with its parameters, which perf omits, by the nearest preceding symbol."""
        address = self._address(offset)
        at = bisect_right(self._symbols, (address, "\U0010ffff"))
        for start, name in reversed(self._symbols[max(0, at - 8) : at]):
            if start <= address and name.startswith(symbol + "("):
                return name
        return symbol

    def function_start(self, offset: int) -> int | None:
        """File offset of the start of the unwind entry that covers an offset."""
        if self._entries is None:
            output = _run("readelf", "--debug-dump=frames", self.path)
            found = sorted((int(start, 16), int(end, 16)) for start, end in _FDE.findall(output))
            self._entries = [start for start, _ in found], [end for _, end in found]
        starts, ends = self._entries
        address = self._address(offset)
        at = bisect_right(starts, address) - 1
        return offset - (address - starts[at]) if at >= 0 and address < ends[at] else None

    def _address(self, offset: int) -> int:
        for load in self._loads:
            if load.offset <= offset < load.offset + load.size:
                return offset - load.offset + load.address
        return offset


def _aliases(symbols: str) -> dict[str, str]:
    """For each name, the alphabetically first name with the same address."""
    names_at: defaultdict[str, set[str]] = defaultdict(set)
    for address, name in _SYMBOL.findall(symbols):
        names_at[address].add(plain(_VERSION.sub("", name)))
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    for names in names_at.values():
        first, *others = sorted(find(name) for name in names)
        for other in others:
            leader[other] = first
    return {name: find(name) for name in leader}


def _run(program: str, *arguments: str | Path) -> str:
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False).stdout
