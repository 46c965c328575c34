"""Names the stubs of the procedure linkage table, through which a program calls its libraries.

Stubs have no symbols. On x86-64 every stub has an indirect jump through a slot of the global offset
table (psABI §5.2), `ff 25 disp32`, and a relocation names the function whose address fills that slot.
This works for `.plt`, `.plt.sec` (with endbr64) and `.plt.got` alike. As in perf and objdump the
name is the function's with `@plt`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import U64
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import (
    EM_X86_64,
    ET_REL,
    R_X86_64_GLOB_DAT,
    R_X86_64_JUMP_SLOT,
    SHT_RELA,
    Records,
)
from symbolizer.errors import MalformedElf

_STUB_SECTIONS: Final = (".plt", ".plt.sec", ".plt.got")
_STUB_BYTES: Final = 16
_SUFFIX: Final = b"@plt"
_MAX_NAME: Final = 1 << 12
_MAX_BYTES: Final = 1 << 22
"""Bytes of one section: 260,000 stubs."""
_MAX_TEXT: Final = 1 << 25


@dataclass(frozen=True, slots=True)
class Stubs:
    """n stubs; the name of each is in `text` from `at` to the next NUL."""

    starts: U64
    sizes: U64
    text: bytes
    at: npt.NDArray[np.uint32]


def read_stubs(file: ElfFile, dynamic: Sequence[tuple[Records, bytes]]) -> Stubs:
    """The stubs of a file with these dynamic symbols; none for other architectures. Raises `MalformedElf`."""
    starts: list[int] = []
    sizes: list[int] = []
    at: list[int] = []
    text = bytearray()
    known = file.machine == EM_X86_64 and file.bits == 64 and file.type != ET_REL
    slots, symbols = _slots(file, dynamic[0][0]) if known and dynamic else (_NONE, _NONE)
    for section in _STUB_SECTIONS if len(slots) else ():
        index = file.section_names.get(section)
        code = file.data(section, limit=_MAX_BYTES)
        if index is None or not code:
            continue
        base = int(file.sections["addr"][index])
        if base + len(code) >= 1 << 64:
            continue
        stride = int(file.sections["entsize"][index])
        stride = stride if stride in {8, _STUB_BYTES} else _STUB_BYTES
        jumps = _jumps(code)
        targets = np.uint64(base) + (jumps + 6 + _displacements(code, jumps)).astype(np.uint64)
        place = np.searchsorted(slots, targets, "right") - 1  # the last one, and index -1 is no match
        found = np.flatnonzero(slots[place] == targets)
        for jump, symbol in zip(jumps[found].tolist(), symbols[place[found]].tolist(), strict=True):
            name = _name(dynamic[0], symbol)
            if not name:
                continue
            starts.append(base + jump // stride * stride)
            sizes.append(stride)
            at.append(len(text))
            text += name + _SUFFIX + b"\0"
            if len(text) > _MAX_TEXT:
                raise MalformedElf(f"The names of its stubs exceed {_MAX_TEXT} bytes.")
    return Stubs(
        np.array(starts, np.uint64), np.array(sizes, np.uint64), bytes(text), np.array(at, np.uint32)
    )


def _slots(file: ElfFile, symbols: Records) -> tuple[U64, U64]:
    """Virtual addresses of slots, ascending, and the index of the symbol whose address fills each slot."""
    slots, numbers = [_NONE], [_NONE]
    for relocations in file.relocations(SHT_RELA):
        which = relocations["info"] >> np.uint64(32)
        kind = relocations["info"] & np.uint64(0xFFFFFFFF)
        known = (
            (which > 0)
            & (which < len(symbols))
            & ((kind == R_X86_64_GLOB_DAT) | (kind == R_X86_64_JUMP_SLOT))
        )
        slots.append(relocations["offset"][known].astype(np.uint64))
        numbers.append(which[known])
    addresses, of = np.concatenate(slots), np.concatenate(numbers)
    order = np.argsort(addresses, kind="stable")
    return addresses[order], of[order]


def _jumps(code: bytes) -> npt.NDArray[np.int64]:
    """Positions of the code's indirect jumps relative to the instruction pointer."""
    text = np.frombuffer(code, np.uint8)
    return np.flatnonzero((text[:-5] == 0xFF) & (text[1:-4] == 0x25))


def _displacements(code: bytes, jumps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The signed words after the opcodes of the jumps."""
    text = np.frombuffer(code, np.uint8)
    words = np.stack([text[jumps + byte] for byte in range(2, 6)], axis=1)
    return words.view("<i4")[:, 0].astype(np.int64)


def _name(table: tuple[Records, bytes], symbol: int) -> bytes:
    records, text = table
    start = int(records["name"][symbol])
    return text[start : max(text.find(b"\0", start, start + _MAX_NAME), start)]


_NONE: Final[U64] = np.zeros(0, np.uint64)
