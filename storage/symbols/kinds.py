"""What a debug file is, and how much it says."""

from enum import IntEnum, StrEnum
from typing import Final


class FileKind(StrEnum):
    """What a debug file is; the texts are stored."""

    EXECUTABLE = "executable"
    """The image itself: program, library, module, vmlinux."""
    DEBUGINFO = "debuginfo"
    """What `objcopy --only-keep-debug` leaves."""
    SYMBOLS = "symbols"
    """Symbol tables, segments and build-id only, as a gateway sends them."""
    KALLSYMS = "kallsyms"
    """A kernel's symbols and those of the modules loaded into it."""
    ALTLINK = "altlink"
    """What `dwz -m` moved out of several files; its binary key is its own build-id."""
    SPLIT = "split"
    """A `.dwo` or `.dwp` that belongs to a binary."""


class Quality(IntEnum):
    """How much a debug file says; the numbers are stored and compared (higher is better)."""

    NONE = 0
    """Segments at most: addresses can be placed, not named."""
    DYNSYM = 1
    """Exported names only."""
    SYMTAB = 2
    """All names, no lines."""
    DWARF = 3
    """Names, files, lines, inlined calls."""


NAMING: Final = (FileKind.EXECUTABLE, FileKind.DEBUGINFO, FileKind.SYMBOLS, FileKind.KALLSYMS)
"""Kinds that name functions by themselves; the others only complete one of these."""
EVERY_KIND: Final = tuple(FileKind)
