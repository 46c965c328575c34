"""ELF files that claim far more than lies on the disk: sparse string tables, millions of symbols."""

from pathlib import Path

import numpy as np

from simulation.elf_writer import TEXT_OFFSET, Symbol, elf_file
from symbolizer.elf.content import Source
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import SHT_SYMTAB, record

FUNCTION = "main_loop"
_SYMBOL = record("symbol", 64, "<")


def hostile_elf(path: Path, *, build_id: bytes, symbols: int = 1, string_bytes: int = 1 << 20) -> Path:
    """Write a library of `symbols` functions, which overlap, with a string table of nothing but NULs: a hole."""
    whole = bytearray(elf_file(build_id, [Symbol(FUNCTION, TEXT_OFFSET, 1 << 12)]))
    elf = ElfFile(bytes(whole))
    records = np.zeros(symbols + 1, _SYMBOL)
    records["info"][1:], records["shndx"][1:] = 0x12, 2  # global functions in .text
    records["name"][1:] = np.linspace(1, string_bytes - 1, symbols).astype(np.uint32)
    records["value"][1:] = TEXT_OFFSET + 2 * np.arange(symbols)
    records["size"][1:] = 2 * np.arange(symbols, 0, -1)
    [table] = np.flatnonzero(elf.sections["type"] == SHT_SYMTAB)
    sections = elf.sections.copy()
    text = sections["link"][table]
    sections["offset"][table], sections["size"][table] = len(whole), records.nbytes
    sections["offset"][text], sections["size"][text] = len(whole) + records.nbytes, string_bytes
    at = int.from_bytes(whole[40:48], "little")
    whole[at : at + sections.nbytes] = sections.tobytes()
    with path.open("wb") as file:
        file.write(whole)
        file.write(records.tobytes())
        file.truncate(len(whole) + records.nbytes + string_bytes)
    return path


class Counted:
    """Bytes of which is noted how many were read."""

    def __init__(self, content: Source) -> None:
        self._content = content
        self.read = 0

    def __len__(self) -> int:
        return len(self._content)

    def __getitem__(self, where: slice) -> bytes:
        data = self._content[where]
        self.read += len(data)
        return data
