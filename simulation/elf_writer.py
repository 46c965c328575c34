"""Small ELF files that name functions: a build-id, one code segment, and a symbol table.

The output of a linker for a program with these functions (System V gABI chapters 4 and 5, x86-64), except that every
byte of code is a breakpoint instruction. File offsets equal addresses.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

TEXT_OFFSET: Final = 0x1000
"""File offset and address of the first function."""
_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_NOTE: Final = struct.Struct("<III")
_EM_X86_64: Final = 62
_ET_EXEC, _ET_DYN = 2, 3
_PT_LOAD, _PT_NOTE = 1, 4
_PROGBITS, _SYMTAB, _STRTAB, _NOTE_SECTION = 1, 2, 3, 7
_ALLOC, _EXECUTE = 2, 4
_NAMES: Final = (b"", b".note.gnu.build-id", b".text", b".symtab", b".strtab", b".shstrtab")
_TEXT_SECTION: Final = 2
_KERNEL_NAMES: Final = (b".init.text", b".data..percpu")
"""Sections that only a kernel has; readers recognize a kernel by them."""
_BREAKPOINT: Final = b"\xcc"
_GLOBAL_FUNCTION: Final = 1 << 4 | 2


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function: its linker symbol, file offset and length in bytes."""

    name: str
    start: int
    size: int


def elf_file(build_id: bytes, symbols: Sequence[Symbol], *, kernel: bool = False) -> bytes:
    """Content of the file: a shared object, or a kernel (vmlinux)."""
    section_names = (*_NAMES, *_KERNEL_NAMES) if kernel else _NAMES
    end = max((symbol.start + symbol.size for symbol in symbols), default=TEXT_OFFSET)
    note = _NOTE.pack(4, len(build_id), 3) + b"GNU\0" + build_id + b"\0" * (-len(build_id) % 4)
    texts, entries = bytearray(b"\0"), bytearray(_SYMBOL.size)
    for symbol in symbols:
        entries += _SYMBOL.pack(len(texts), _GLOBAL_FUNCTION, 0, _TEXT_SECTION, symbol.start, symbol.size)
        texts += symbol.name.encode() + b"\0"
    names = b"\0".join(section_names) + b"\0"
    note_at = _HEADER.size + 2 * _SEGMENT.size
    symbols_at = -(-end // 8) * 8
    texts_at = symbols_at + len(entries)
    names_at = texts_at + len(texts)
    sections_at = -(-(names_at + len(names)) // 8) * 8
    header = _HEADER.pack(
        b"\x7fELF\x02\x01\x01" + bytes(9), _ET_EXEC if kernel else _ET_DYN, _EM_X86_64, 1, 0, _HEADER.size,
        sections_at, 0, _HEADER.size, _SEGMENT.size, 2, _SECTION.size, len(section_names), len(_NAMES) - 1,
    )  # fmt: skip
    segments = _SEGMENT.pack(
        _PT_LOAD, 5, TEXT_OFFSET, TEXT_OFFSET, TEXT_OFFSET, end - TEXT_OFFSET, end - TEXT_OFFSET, 4096
    )
    segments += _SEGMENT.pack(_PT_NOTE, 4, note_at, note_at, note_at, len(note), len(note), 4)
    starts = [names.index(name + b"\0") if name else 0 for name in section_names]
    sections = b"".join(
        _SECTION.pack(*row)
        for row in (
            (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
            (starts[1], _NOTE_SECTION, _ALLOC, note_at, note_at, len(note), 0, 0, 4, 0),
            (starts[2], _PROGBITS, _ALLOC | _EXECUTE, TEXT_OFFSET, TEXT_OFFSET, end - TEXT_OFFSET, 0, 0, 16, 0),
            (starts[3], _SYMTAB, 0, 0, symbols_at, len(entries), 4, 1, 8, _SYMBOL.size),
            (starts[4], _STRTAB, 0, 0, texts_at, len(texts), 0, 0, 1, 0),
            (starts[5], _STRTAB, 0, 0, names_at, len(names), 0, 0, 1, 0),
            *((start, _PROGBITS, _ALLOC, end, end, 0, 0, 0, 1, 0) for start in starts[len(_NAMES) :]),
        )
    )  # fmt: skip
    data = bytearray(header + segments + note)
    for at, part in (
        (TEXT_OFFSET, _BREAKPOINT * (end - TEXT_OFFSET)),
        (symbols_at, entries),
        (texts_at, texts),
        (names_at, names),
        (sections_at, sections),
    ):
        data += b"\0" * (at - len(data)) + part
    return bytes(data)
