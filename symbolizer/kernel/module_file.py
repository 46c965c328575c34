"""Kernel modules: relocatable files, laid out as the kernel loads them.

A .ko has no addresses: every section counts from 0, and its DWARF refers to code by relocations. The
kernel places the executable sections one after the other, in the order of the file, aligned (`layout_sections`
in kernel/module/main.c; sections for initialisation are placed elsewhere and freed). `as_loaded` does the same and
applies the relocations of debug sections, so that the result can be read like a linked file. Its code
segment begins with .text and has file offset 0 there, because captures count a module's addresses from .text.

Relocations: psABI x86-64 table 4.9, AAELF64 §5.7. Sections without code or debug data are left empty.
"""

import re
from typing import Final

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import U64
from symbolizer.elf.file import MAX_SECTION_BYTES, ElfFile
from symbolizer.elf.records import (
    EM_X86_64,
    ET_EXEC,
    ET_REL,
    PF_X,
    PT_LOAD,
    SHF_COMPRESSED,
    SHF_EXECINSTR,
    SHN_LORESERVE,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_RELA,
    SHT_SYMTAB,
    Records,
    record,
)
from symbolizer.errors import MalformedElf

TEXT_ADDRESS: Final = 1 << 28
"""Address of .text. Not 0, which linkers use to mark discarded code."""
MAX_SYMBOL_BYTES: Final = 1 << 26
"""Bytes of a module's symbols, their names and its notes: six times those of amdgpu, the largest module of Linux."""
EM_AARCH64: Final = 183
SHT_STRTAB: Final = 3
SHF_ALLOC: Final = 2
_WIDTHS: Final = {EM_X86_64: {1: 8, 10: 4, 11: 4}, EM_AARCH64: {257: 8, 258: 4}}
"""Bytes that each type of absolute relocation writes; debug data has no other relevant ones."""
_MARKS: Final = frozenset({".modinfo", ".gnu.linkonce.this_module"})
_DEBUG: Final = re.compile(r"\.debug_\w+")
_KEPT: Final = frozenset({SHT_SYMTAB, SHT_STRTAB, SHT_NOTE})
_READ_EXECUTE: Final = PF_X | 4
_SECTION_ALIGNED: Final = 16


def is_module(elf: ElfFile) -> bool:
    """Whether the file is a kernel module, or the debug file of one."""
    return elf.type == ET_REL and not _MARKS.isdisjoint(elf.section_names)


def as_loaded(elf: ElfFile, *, debug: bool = True) -> bytes:
    """An ELF file with the module's symbols, build-id and optionally debug data at its load addresses.

    Without debug data it has at most `MAX_SYMBOL_BYTES`, and writing it takes three times as much memory. Raises
    `MalformedElf`.
    """
    if elf.bits != 64 or elf.machine not in _WIDTHS or elf.sections.dtype["name"] != np.dtype("<u4"):
        raise MalformedElf("It is a kernel module of an unknown architecture.")
    if len(elf.sections) >= SHN_LORESERVE:
        raise MalformedElf(
            f"It is a kernel module with {len(elf.sections)} sections; the limit is {SHN_LORESERVE}."
        )
    names = {index: name for name, index in elf.section_names.items()}
    addresses, code_bytes = _addresses(elf, names)
    sections = elf.sections.copy()
    sections["addr"] = addresses
    header, segment = record("header", 64, "<"), record("segment", 64, "<")
    at = 16 + header.itemsize + segment.itemsize
    parts = []
    kept = 0
    for index in range(len(sections)):
        data = _content(elf, index, names.get(index, ""), addresses, debug=debug)
        if data is None:
            if index:
                sections["type"][index] = SHT_NOBITS
            continue
        kept += len(data)
        if not debug and kept > MAX_SYMBOL_BYTES:
            raise MalformedElf(f"It is a kernel module with more than {MAX_SYMBOL_BYTES} bytes of symbols.")
        at = _aligned(at, _SECTION_ALIGNED)
        sections["offset"][index], sections["size"][index] = at, len(data)
        sections["flags"][index] &= ~np.uint64(SHF_COMPRESSED)
        parts.append((at, data))
        at += len(data)
    # The code is never read, but the segment must end within the file.
    sections_at = _aligned(max(at, code_bytes), _SECTION_ALIGNED)
    loaded = np.zeros(1, segment)
    loaded[0] = (PT_LOAD, _READ_EXECUTE, 0, TEXT_ADDRESS, TEXT_ADDRESS, code_bytes, code_bytes, 4096)
    head = np.zeros(1, header)
    head[0] = (
        ET_EXEC, elf.machine, 1, 0, 16 + header.itemsize, sections_at, 0, 16 + header.itemsize,
        segment.itemsize, 1, sections.dtype.itemsize, len(sections), elf.section_names.get(".shstrtab", 0),
    )  # fmt: skip
    made = bytearray(b"\x7fELF\x02\x01\x01" + bytes(9) + head.tobytes() + loaded.tobytes())
    for start, data in (*parts, (sections_at, sections.tobytes())):
        made += bytes(start - len(made))
        made += data
    return bytes(made)


def _addresses(elf: ElfFile, names: dict[int, str]) -> tuple[U64, int]:
    """Address of each section, 0 for those that are not loaded; and the code's length from .text on."""
    text = elf.section_names.get(".text")
    if text is None:
        raise MalformedElf("It is a kernel module without .text, the base of its addresses.")
    sizes, flags = elf.sections["size"].tolist(), elf.sections["flags"].tolist()
    aligns = elf.sections["align"].tolist()
    code = [
        index
        for index, section_flags in enumerate(flags)
        if section_flags & SHF_ALLOC
        and section_flags & SHF_EXECINSTR
        and not names.get(index, "").startswith(".init")
    ]
    is_code = set(code)
    others = [
        index
        for index, section_flags in enumerate(flags)
        if section_flags & SHF_ALLOC and index not in is_code
    ]
    at = 0
    places: dict[int, int] = {}
    for index in (*code, *others):
        align = aligns[index] if 0 < aligns[index] <= 1 << 16 else 1
        places[index] = at = -(-at // align) * align
        at += sizes[index]
        if at >= TEXT_ADDRESS:
            raise MalformedElf(f"It is a kernel module of {at} bytes, which is too large to be loaded.")
    if text not in is_code:
        raise MalformedElf("Its .text is not code.")
    last = code[-1]
    base = TEXT_ADDRESS - places[text]
    addresses = np.zeros(len(flags), np.uint64)
    for index, place in places.items():
        addresses[index] = base + place
    return addresses, places[last] + sizes[last] - places[text]


def _content(elf: ElfFile, index: int, name: str, addresses: U64, *, debug: bool) -> bytes | None:
    """Content of the section in the new file; None: it is left out."""
    section = elf.sections[index]
    if section["type"] == SHT_NOBITS or not index:
        return None
    if section["type"] == SHT_SYMTAB:
        return _symbols(elf, addresses).tobytes()
    if int(section["type"]) in _KEPT:
        return elf.data(name, limit=MAX_SECTION_BYTES if debug else MAX_SYMBOL_BYTES)
    if debug and _DEBUG.fullmatch(name):
        data = elf.data(name)
        return None if data is None else _relocated(elf, name, data, addresses)
    return None


def _symbols(elf: ElfFile, addresses: U64) -> Records:
    """The symbol table with addresses instead of section offsets."""
    tables = elf.symbols(SHT_SYMTAB)
    if not tables:
        raise MalformedElf("It is a kernel module without symbols.")
    records = tables[0][0].copy()
    inside = (records["shndx"] > 0) & (records["shndx"] < min(len(addresses), SHN_LORESERVE))
    records["value"][inside] += addresses[records["shndx"][inside]]
    return records


def _relocated(elf: ElfFile, name: str, data: bytes, addresses: U64) -> bytes:
    index = elf.section_names.get(f".rela{name}")
    if index is None or elf.sections["type"][index] != SHT_RELA:
        return data
    raw = elf.data(f".rela{name}") or b""
    dtype = record("relocation", 64, "<")
    relocations = np.frombuffer(raw, dtype, len(raw) // dtype.itemsize)
    symbols = _symbols(elf, addresses)["value"]
    which = (relocations["info"] >> np.uint64(32)).astype(np.int64)
    kind = (relocations["info"] & np.uint64(0xFFFFFFFF)).astype(np.int64)
    content = np.frombuffer(data, np.uint8).copy()
    for number, width in _WIDTHS[elf.machine].items():
        mine = (
            (kind == number)
            & (which < len(symbols))
            & (relocations["offset"] + np.uint64(width) <= len(data))
        )
        values = symbols[which[mine]] + relocations["addend"][mine].astype(np.uint64)
        _write(content, relocations["offset"][mine].astype(np.int64), values, width)
    return content.tobytes()


def _write(content: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], values: U64, width: int) -> None:
    parts = values.astype("<u8").view(np.uint8).reshape(-1, 8)
    for byte in range(width):
        content[offsets + byte] = parts[:, byte]


def _aligned(position: int, to: int) -> int:
    return -(-position // to) * to
