"""Names for the stubs of the procedure linkage table, through which a program calls its libraries.

No symbol names them. On x86-64 every stub has an indirect jump through a slot of the global offset
table (psABI §5.2), `ff 25 disp32`, and a relocation names the function whose address that slot gets:
it is read for `.plt`, `.plt.sec` (with endbr64) and `.plt.got` alike. As in perf and objdump the
name is the function's with `@plt`.
"""

from typing import Final

import numpy as np

from symbolizer.addresses import U64
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import (
    EM_X86_64,
    ET_REL,
    R_X86_64_GLOB_DAT,
    R_X86_64_JUMP_SLOT,
    SHT_DYNSYM,
    SHT_RELA,
)

_STUB_SECTIONS: Final = (".plt", ".plt.sec", ".plt.got")
_STUB_BYTES: Final = 16
_SUFFIX: Final = b"@plt"
_MAX_NAME: Final = 1 << 12
_MAX_BYTES: Final = 1 << 24


def read_stubs(file: ElfFile) -> tuple[U64, U64, list[bytes]]:
    """Starts, sizes and names of the stubs; none for other architectures. Raises `MalformedElf`."""
    starts: list[int] = []
    sizes: list[int] = []
    names: list[bytes] = []
    slots = _slots(file) if file.machine == EM_X86_64 and file.bits == 64 and file.type != ET_REL else {}
    for section in _STUB_SECTIONS if slots else ():
        index = file.section_names.get(section)
        code = file.data(section, limit=_MAX_BYTES)
        if index is None or not code:
            continue
        base = int(file.sections["addr"][index])
        stride = int(file.sections["entsize"][index])
        stride = stride if stride in {8, _STUB_BYTES} else _STUB_BYTES
        text = np.frombuffer(code, np.uint8)
        jumps = np.flatnonzero((text[:-5] == 0xFF) & (text[1:-4] == 0x25))
        for at in jumps.tolist():
            displacement = int.from_bytes(code[at + 2 : at + 6], "little", signed=True)
            name = slots.get(base + at + 6 + displacement)
            if name is not None:
                starts.append(base + at // stride * stride)
                sizes.append(stride)
                names.append(name + _SUFFIX)
    return np.array(starts, np.uint64), np.array(sizes, np.uint64), names


def _slots(file: ElfFile) -> dict[int, bytes]:
    """Name of the function whose address each slot gets, by the slot's virtual address."""
    symbols = file.symbols(SHT_DYNSYM)
    if not symbols:
        return {}
    records, text = symbols[0]
    slots: dict[int, bytes] = {}
    for relocations in file.relocations(SHT_RELA):
        which = (relocations["info"] >> np.uint64(32)).astype(np.int64)
        kind = relocations["info"] & np.uint64(0xFFFFFFFF)
        known = (
            (which > 0)
            & (which < len(records))
            & ((kind == R_X86_64_GLOB_DAT) | (kind == R_X86_64_JUMP_SLOT))
        )
        at = records["name"][which[known]]
        for slot, start in zip(relocations["offset"][known].tolist(), at.tolist(), strict=True):
            end = text.find(b"\0", start, start + _MAX_NAME)
            if end > start:
                slots[slot] = text[start:end]
    return slots
