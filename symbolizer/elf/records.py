"""The fixed records of ELF files as numpy types (System V gABI chapters 4 and 5)."""

from typing import Final, Literal

import numpy as np
import numpy.typing as npt

PT_LOAD: Final = 1
PT_NOTE: Final = 4
PF_X: Final = 1
SHT_PROGBITS: Final = 1
SHT_SYMTAB: Final = 2
SHT_RELA: Final = 4
SHT_NOTE: Final = 7
SHT_NOBITS: Final = 8
SHT_DYNSYM: Final = 11
SHN_LORESERVE: Final = 0xFF00
SHN_XINDEX: Final = 0xFFFF
PN_XNUM: Final = 0xFFFF
SHF_EXECINSTR: Final = 0x4
SHF_COMPRESSED: Final = 0x800
ELFCOMPRESS_ZLIB: Final = 1
ELFCOMPRESS_ZSTD: Final = 2
NT_GNU_BUILD_ID: Final = 3
NT_GO_BUILD_ID: Final = 4
STT_NOTYPE: Final = 0
STT_FUNC: Final = 2
STT_GNU_IFUNC: Final = 10
STB_GLOBAL: Final = 1
STB_WEAK: Final = 2
ET_REL: Final = 1
ET_EXEC: Final = 2
ET_DYN: Final = 3
ET_CORE: Final = 4
EM_X86_64: Final = 62
EM_AARCH64: Final = 183
MACHINES: Final = {
    3: "x86", 8: "mips", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "arm", EM_X86_64: "x86-64", EM_AARCH64: "aarch64",
    243: "riscv", 258: "loongarch",
}  # fmt: skip
"""Architectures by e_machine: those with Linux profiles."""
R_X86_64_GLOB_DAT: Final = 6
R_X86_64_JUMP_SLOT: Final = 7

Records = npt.NDArray[np.void]
Kind = Literal["header", "segment", "section", "symbol", "relocation", "compression"]

_Fields = list[tuple[str, str]]
_WORDS: dict[int, dict[Kind, _Fields]] = {
    64: {
        "header": [("type", "u2"), ("machine", "u2"), ("version", "u4"), ("entry", "u8"), ("phoff", "u8"), ("shoff", "u8"), ("flags", "u4"), ("ehsize", "u2"), ("phentsize", "u2"), ("phnum", "u2"), ("shentsize", "u2"), ("shnum", "u2"), ("shstrndx", "u2")],
        "segment": [("type", "u4"), ("flags", "u4"), ("offset", "u8"), ("vaddr", "u8"), ("paddr", "u8"), ("filesz", "u8"), ("memsz", "u8"), ("align", "u8")],
        "section": [("name", "u4"), ("type", "u4"), ("flags", "u8"), ("addr", "u8"), ("offset", "u8"), ("size", "u8"), ("link", "u4"), ("info", "u4"), ("align", "u8"), ("entsize", "u8")],
        "symbol": [("name", "u4"), ("info", "u1"), ("other", "u1"), ("shndx", "u2"), ("value", "u8"), ("size", "u8")],
        "relocation": [("offset", "u8"), ("info", "u8"), ("addend", "i8")],
        "compression": [("type", "u4"), ("reserved", "u4"), ("size", "u8"), ("align", "u8")],
    },
    32: {
        "header": [("type", "u2"), ("machine", "u2"), ("version", "u4"), ("entry", "u4"), ("phoff", "u4"), ("shoff", "u4"), ("flags", "u4"), ("ehsize", "u2"), ("phentsize", "u2"), ("phnum", "u2"), ("shentsize", "u2"), ("shnum", "u2"), ("shstrndx", "u2")],
        "segment": [("type", "u4"), ("offset", "u4"), ("vaddr", "u4"), ("paddr", "u4"), ("filesz", "u4"), ("memsz", "u4"), ("flags", "u4"), ("align", "u4")],
        "section": [("name", "u4"), ("type", "u4"), ("flags", "u4"), ("addr", "u4"), ("offset", "u4"), ("size", "u4"), ("link", "u4"), ("info", "u4"), ("align", "u4"), ("entsize", "u4")],
        "symbol": [("name", "u4"), ("value", "u4"), ("size", "u4"), ("info", "u1"), ("other", "u1"), ("shndx", "u2")],
        "relocation": [("offset", "u4"), ("info", "u4"), ("addend", "i4")],
        "compression": [("type", "u4"), ("size", "u4"), ("align", "u4")],
    },
}  # fmt: skip


def record(kind: Kind, bits: int, order: str) -> np.dtype[np.void]:
    """The record of a 32 or 64 bit file in a byte order: "<" little, ">" big."""
    return np.dtype([(name, order + code) for name, code in _WORDS[bits][kind]])
