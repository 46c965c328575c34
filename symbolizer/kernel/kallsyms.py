"""Functions of a kernel and its modules by offset: one table for every boot of a build.

There are two text formats. /proc/kallsyms has lines `address type name [module]`; types t, T, w, W are code
(nm(1)); its addresses are those of one boot (KASLR). A **kernel table** has offsets instead, from `_stext`
for the kernel and from the start of .text for a module:

    fleetprof kernel symbols 1
    kernel BUILD-ID SIZE COUNT     bytes of its text (0 not known), and how many functions follow; all hex
    module NAME BUILD-ID SIZE COUNT    for each loaded module, ascending by name; `-`: it has no build-id
                                   an empty line, then all functions, image after image:
    OFFSET TYPE NAME               ascending by offset, then by name and type

It contains nothing of the machine's address space, and machines with one kernel and one set of modules
write the same bytes (`gateway/symbols/kernel_table.py` does).

A symbol reaches to the next one of its image; the last one to the image's end, else to the end of its page.
Of several names at one address perf's choice is used: global before local before weak, fewer leading
underscores, the longer name.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import IO, Final

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import PAGE_SIZE, U64, FileOffsets
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import SHT_SYMTAB
from symbolizer.elf.symtab import read_symbols
from symbolizer.errors import MalformedImage, SymbolsHidden
from symbolizer.kernel.identity import KernelIdentity

TABLE_MAGIC: Final = b"fleetprof kernel symbols 1\n"
MAX_BYTES: Final = 1 << 26
"""Limit of either text; those of distributions' kernels have 10 to 15 MB."""
MAX_FUNCTIONS: Final = 1 << 20
"""Limit for a kernel and its modules: four times a distribution's kernel with all modules. Each takes some 250 bytes
during parsing."""
MAX_MODULES: Final = 1 << 14
_PIECE_BYTES: Final = 1 << 20
_BYTES_EACH: Final = 57
"""Memory of a function without its name: two numbers, a reference, and an object header."""
MISS: Final = -1

_SYMBOL: Final = re.compile(
    rb"^([0-9a-f]{1,16}) ([tTwW]) ([^\s]+)(?:[ \t]+\[([^\]\s]+)\])?[ \t]*$", re.MULTILINE
)
_END: Final = re.compile(rb"^([0-9a-f]{1,16}) \w _etext$", re.MULTILINE)
_HEAD: Final = re.compile(
    rb"(?:kernel|module (?P<name>\S+)) (?P<build>(?:[0-9a-f]{2})+|-) (?P<size>[0-9a-f]{1,16}) (?P<count>[0-9a-f]{1,8})"
)
_SCOPE: Final = {b"T": 0, b"t": 1, b"W": 2, b"w": 2}
_MARKERS: Final = frozenset({b"_stext", b"_text", b"_etext", b"_sinittext", b"_einittext", b"__init_begin"})
"""Linker symbols that share an address with a function; they mark a boundary and do not name the function."""


@dataclass(frozen=True, slots=True)
class OffsetTable:
    """Functions of the kernel or one module, ascending by offset."""

    starts: U64
    ends: U64
    names: tuple[bytes, ...]

    @property
    def memory_bytes(self) -> int:
        """Memory that the table takes."""
        return sum(map(len, self.names)) + _BYTES_EACH * len(self.names)

    def find(self, offsets: FileOffsets) -> npt.NDArray[np.int64]:
        """Index of the function that holds each offset, `MISS` if there is none."""
        if not self.names:
            return np.full(len(offsets.values), MISS, np.int64)
        index = np.searchsorted(self.starts, offsets.values, "right").astype(np.int64) - 1
        inside = (index >= 0) & (offsets.values < self.ends[np.maximum(index, 0)])
        return np.where(inside, index, MISS)


@dataclass(frozen=True, slots=True)
class Kallsyms:
    """The functions of one kernel and of modules for it."""

    kernel: OffsetTable
    modules: Mapping[str, OffsetTable]
    """By module name, without brackets; only modules with known functions."""
    builds: Mapping[str, str] = field(default_factory=dict)
    """Build-id (hex, '' if it has none) of each loaded module, by name."""

    @property
    def memory_bytes(self) -> int:
        """Memory that its tables take."""
        return sum(table.memory_bytes for table in (self.kernel, *self.modules.values()))

    def only(self, wanted: KernelIdentity) -> "Kallsyms":
        """The symbols without modules whose build differs from the wanted kernel's."""
        same = {name: table for name, table in self.modules.items() if self._is_same(name, wanted)}
        return Kallsyms(self.kernel, same, self.builds)

    def _is_same(self, module: str, wanted: KernelIdentity) -> bool:
        """Compare by build-id. Without one, all modules must be the same: nothing else distinguishes two builds."""
        build = wanted.build_of(module)
        if build:
            return build == self.builds.get(module)
        return build == self.builds.get(module) and dict(wanted.modules) == dict(self.builds)


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """A module of one boot: where its .text is, and its maximum size from there (0 not known)."""

    name: str
    build_id: str
    """Hex; '' if it has none."""
    base: int
    size: int = 0


def table_of_boot(text: bytes, build_id: bytes, modules: Iterable[LoadedModule]) -> bytes:
    """The kernel table of a boot, from the whole of /proc/kallsyms.

    Raises `SymbolsHidden` if every address is 0 (kptr_restrict), `MalformedImage` if `_stext` is missing.
    """
    if len(text) > MAX_BYTES:
        raise MalformedImage(f"kallsyms has {len(text)} bytes; the limit is {MAX_BYTES}.")
    found: dict[bytes, list[tuple[int, bytes, bytes]]] = {}
    start, nothing_shown = 0, True
    for number, line in enumerate(_SYMBOL.finditer(text)):
        if number >= MAX_FUNCTIONS:
            raise MalformedImage(f"kallsyms has more than {MAX_FUNCTIONS} functions.")
        address, kind, name, module = line.groups(b"")
        value = int(address, 16)
        nothing_shown = nothing_shown and not value
        if name == b"_stext" and not module:
            start = value
        found.setdefault(module, []).append((value, name, kind))
    if found and nothing_shown:
        raise SymbolsHidden("The kernel hides its symbol addresses (kptr_restrict).")
    if not start:
        raise MalformedImage("kallsyms has no _stext.")
    end = _END.search(text)
    size = max(int(end[1], 16) - start, 0) if end else 0
    lines = _lines(found[b""], start, size)
    heads = [b"kernel %s %x %x" % (build_id.hex().encode() or b"-", size, len(lines))]
    for module_ in sorted(modules, key=lambda module: module.name):
        name = module_.name.encode()
        functions = _lines(found.get(name, []) if module_.base else [], module_.base, module_.size)
        build = module_.build_id.encode() or b"-"
        heads.append(b"module %s %s %x %x" % (name, build, module_.size, len(functions)))
        lines += functions
    return TABLE_MAGIC + b"\n".join(heads) + b"\n\n" + b"".join(lines)


def _lines(symbols: list[tuple[int, bytes, bytes]], base: int, size: int) -> list[bytes]:
    return [
        b"%x %s %s\n" % (address - base, kind, name)
        for address, name, kind in sorted(symbols)
        if address >= base and (not size or address < base + size)
    ]


@dataclass(frozen=True, slots=True)
class _Head:
    """A table's description of one image; `name` is None for the kernel itself."""

    name: str | None
    build: str
    size: int
    count: int


def _heads(text: bytes) -> tuple[list[_Head], bytes]:
    """The images of a table, the kernel first, and the text after their descriptions."""
    if not text.startswith(TABLE_MAGIC):
        raise MalformedImage("It is not a kernel's function table.")
    head, _, body = text[len(TABLE_MAGIC) :].partition(b"\n\n")
    heads: list[_Head] = []
    for line in head.split(b"\n", MAX_MODULES):
        image = _HEAD.fullmatch(line)
        if image is None or (image["name"] is None) != (not heads):
            raise MalformedImage("The descriptions of its images are malformed.")
        name = None if image["name"] is None else image["name"].decode("utf-8", "replace")
        build = image["build"].decode().removeprefix("-")
        heads.append(_Head(name, build, int(image["size"], 16), int(image["count"], 16)))
    return heads, body


def kernel_of_table(text: bytes) -> KernelIdentity:
    """The kernel and the modules of a table; the part before its functions is sufficient.

    Raises `MalformedImage`.
    """
    (kernel, *modules), _ = _heads(text)
    return KernelIdentity(
        bytes.fromhex(kernel.build), tuple(sorted((module.name or "", module.build) for module in modules))
    )


def read_kernel_of_table(file: IO[bytes]) -> KernelIdentity:
    """As `kernel_of_table`, for a file at its start; reads only the descriptions.

    Raises `MalformedImage`, OSError.
    """
    head = bytearray()  # descriptions of 5,000 modules with long names take more than a MiB
    searched = 0
    while head.find(b"\n\n", searched) < 0 and len(head) < MAX_BYTES:
        searched = max(len(head) - 1, 0)
        piece = file.read(_PIECE_BYTES)
        if not piece:
            break
        head += piece
    return kernel_of_table(bytes(head))


def parse_table(text: bytes) -> tuple[bytes, Kallsyms]:
    """A kernel table: the kernel's build-id (b"" not known), and its functions. Raises `MalformedImage`."""
    if len(text) > MAX_BYTES:
        raise MalformedImage(f"The kernel table has {len(text)} bytes; the limit is {MAX_BYTES}.")
    heads, body = _heads(text)
    count = sum(image.count for image in heads)
    if count > MAX_FUNCTIONS:
        raise MalformedImage(f"The kernel table has {count} functions; the limit is {MAX_FUNCTIONS}.")
    fields = body.split(None, 3 * count)  # the rest stays one element
    if 3 * count != len(fields):
        raise MalformedImage("It has more or fewer functions than stated.")
    tables = []
    at = 0
    for image in heads:
        after = at + 3 * image.count
        tables.append(_read_table(fields[at:after], image.size))
        at = after
    modules = list(zip(heads[1:], tables[1:], strict=True))
    return bytes.fromhex(heads[0].build), Kallsyms(
        tables[0],
        {image.name or "": table for image, table in modules if table.names},
        {image.name or "": image.build for image, _ in modules},
    )


def _read_table(fields: Sequence[bytes], size: int) -> OffsetTable:
    try:
        starts = np.array([int(field, 16) for field in fields[0::3]], np.uint64)
        scopes = [_SCOPE[field] for field in fields[1::3]]
    except (ValueError, KeyError, OverflowError) as error:
        raise MalformedImage("One of its functions has a malformed offset or type.") from error
    if (starts[1:] < starts[:-1]).any():
        raise MalformedImage("Its functions are not in ascending order.")
    return _table(starts, scopes, fields[2::3], size)


def _table(starts: U64, scopes: Sequence[int], names: Sequence[bytes], size: int) -> OffsetTable:
    """One name for each start; `starts` ascend."""
    if not len(starts):
        return OffsetTable(starts, starts, ())
    first = np.flatnonzero(np.append(True, starts[1:] != starts[:-1]))
    chosen = [
        names[at]
        if after == at + 1
        else min(zip(names[at:after], scopes[at:after], strict=True), key=_preference)[0]
        for at, after in pairwise([*first.tolist(), len(starts)])
    ]
    kept = starts[first]
    last = int(kept[-1])
    end = size if size > last else min(last // PAGE_SIZE * PAGE_SIZE + PAGE_SIZE, (1 << 64) - 1)
    return OffsetTable(kept, np.append(kept[1:], np.uint64(end)), tuple(chosen))


def _preference(symbol: tuple[bytes, int]) -> tuple[bool, int, int, int, bytes]:
    name, scope = symbol
    underscores = len(name) - len(name.lstrip(b"_"))
    return name in _MARKERS, scope, underscores, -len(name), name


def parse_kallsyms(text: bytes, module_bases: Mapping[str, int]) -> Kallsyms:
    """Parse the whole of /proc/kallsyms; `module_bases` are the modules' load addresses.

    Raises `SymbolsHidden` if every address is 0 (kptr_restrict), `MalformedImage` if `_stext` is missing.
    """
    modules = [LoadedModule(name, "", base) for name, base in module_bases.items()]
    return parse_table(table_of_boot(text, b"", modules))[1]


def kallsyms_of(vmlinux: ElfFile) -> Kallsyms:
    """The functions named by a kernel's own file, without modules.

    Raises `MalformedElf`, `MalformedImage` if `_stext` is missing.
    """
    symbols = read_symbols(vmlinux)
    start = np.uint64(start_of_kernel(vmlinux))
    first = int(np.searchsorted(symbols.starts, start))
    if len(symbols) - first > MAX_FUNCTIONS:
        raise MalformedImage(f"It has more than {MAX_FUNCTIONS} functions.")
    names, left = [], MAX_BYTES
    for index in range(first, len(symbols)):
        names.append(symbols.name(index))
        left -= len(names[-1])
        if left < 0:  # names may all share one name's bytes, but copies do not
            raise MalformedImage(f"The names of its functions exceed {MAX_BYTES} bytes.")
    return Kallsyms(
        OffsetTable(symbols.starts[first:] - start, symbols.ends[first:] - start, tuple(names)), {}
    )


def start_of_kernel(vmlinux: ElfFile) -> int:
    """`_stext`, the base of the kernel's offsets; it is no function, so it is not in the table of functions.

    Raises `MalformedElf`, `MalformedImage` if it is missing.
    """
    for records, text in vmlinux.symbols(SHT_SYMTAB):
        at = text.find(b"\0_stext\0") + 1
        if at and (records["name"] == at).any():
            return int(records["value"][records["name"] == at][0])
    raise MalformedImage("Its symbols do not include _stext.")
