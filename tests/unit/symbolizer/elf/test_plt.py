import struct

import numpy as np
import pytest

from symbolizer.elf.file import ElfFile
from symbolizer.elf.plt import read_stubs
from symbolizer.elf.records import R_X86_64_JUMP_SLOT, SHT_DYNSYM, SHT_RELA, record
from symbolizer.errors import MalformedElf

SLOTS_AT, PLT_AT = 0x4000, 0x1000
NAMES = b"\0.plt\0"


def library(stubs: int, name: bytes) -> ElfFile:
    """Every stub jumps through a slot of its own, and every slot gets the address of one function."""
    code = b"".join(
        b"\xff\x25" + struct.pack("<i", SLOTS_AT + 8 * n - (PLT_AT + 16 * n + 6)) + bytes(10)
        for n in range(stubs)
    )
    relocations = np.zeros(stubs, record("relocation", 64, "<"))
    relocations["offset"] = SLOTS_AT + 8 * np.arange(stubs)
    relocations["info"] = 1 << 32 | R_X86_64_JUMP_SLOT
    symbols = np.zeros(2, record("symbol", 64, "<"))
    symbols["name"][1] = 1
    parts = [(0, b""), (1, code), (SHT_DYNSYM, symbols.tobytes()), (3, b"\0" + name + b"\0"),
             (SHT_RELA, relocations.tobytes()), (3, NAMES)]  # fmt: skip
    sections = np.zeros(len(parts), record("section", 64, "<"))
    content = bytearray(64)
    for section, (kind, data) in zip(sections, parts, strict=True):
        section["type"], section["offset"], section["size"] = kind, len(content), len(data)
        content += data
    sections["name"][1], sections["addr"][1], sections["entsize"][1] = 1, PLT_AT, 16
    sections["link"][2] = 3
    header = np.zeros(1, record("header", 64, "<"))
    header["type"], header["machine"], header["shoff"] = 3, 62, len(content)
    header["shnum"], header["shstrndx"] = len(parts), len(parts) - 1
    content[:64] = b"\x7fELF\x02\x01\x01" + bytes(9) + header.tobytes()
    return ElfFile(bytes(content + sections.tobytes()))


def test_each_stub_has_the_name_of_its_function() -> None:
    file = library(3, b"puts")
    stubs = read_stubs(file, file.symbols(SHT_DYNSYM))
    assert stubs.starts.tolist() == [PLT_AT, PLT_AT + 16, PLT_AT + 32]
    assert [stubs.text[at:].partition(b"\0")[0] for at in stubs.at.tolist()] == [b"puts@plt"] * 3


def test_stubs_that_share_one_long_name_do_not_multiply_it() -> None:
    file = library(100_000, b"x" * 4000)
    with pytest.raises(MalformedElf, match="The names of its stubs exceed 33554432 bytes"):
        read_stubs(file, file.symbols(SHT_DYNSYM))
