"""Writes an ELF file with other sections: the old file unchanged, then the new sections, then a new section table."""

from collections.abc import Mapping
from typing import BinaryIO, Final

import numpy as np

from symbolizer.elf.content import Source
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import SHF_COMPRESSED, SHT_PROGBITS, record
from symbolizer.errors import MalformedElf

_AT_ONCE: Final = 1 << 20
_ALIGNED: Final = 16
_MOST_SECTIONS: Final = 0xFEFF


def write_with_sections(
    elf: ElfFile, content: Source, sections: Mapping[str, bytes | bytearray], output: BinaryIO
) -> None:
    """Write a copy of the file to `output`; the sections replace its own of the same names, or are added.

    Raises `MalformedElf`, OSError.
    """
    output.writelines(content[start : start + _AT_ONCE] for start in range(0, len(content), _AT_ONCE))
    names_index = elf.names_index
    names = bytearray(elf.raw_section(names_index))
    new = [name for name in sections if name not in elf.section_names]
    table = np.zeros(len(elf.sections) + len(new), elf.sections.dtype)
    table[: len(elf.sections)] = elf.sections
    if len(table) > _MOST_SECTIONS:
        raise MalformedElf("It has too many sections to add one.")
    for position, name in enumerate(new, len(elf.sections)):
        table[position]["name"], table[position]["type"] = len(names), SHT_PROGBITS
        names += name.encode() + b"\0"
    where = {**elf.section_names, **{name: at for at, name in enumerate(new, len(elf.sections))}}
    for name, data in [*((name, data) for name, data in sections.items()), ("", names)]:
        index = where[name] if name else names_index
        table[index]["offset"], table[index]["size"] = _append(output, data), len(data)
        table[index]["align"] = 1
        table[index]["flags"] = int(table[index]["flags"]) & ~SHF_COMPRESSED
        if name:
            table[index]["type"] = SHT_PROGBITS
    table_at = _append(output, table.tobytes())
    header = np.frombuffer(
        content[16 : 16 + record("header", elf.bits, elf.order).itemsize],
        record("header", elf.bits, elf.order),
    ).copy()
    header[0]["shoff"], header[0]["shnum"], header[0]["shstrndx"] = table_at, len(table), names_index
    output.seek(16)
    output.write(header.tobytes())
    output.flush()


def _append(output: BinaryIO, data: bytes | bytearray) -> int:
    at = output.seek(0, 2)
    output.write(bytes(-at % _ALIGNED))
    output.write(data)
    return at + -at % _ALIGNED
