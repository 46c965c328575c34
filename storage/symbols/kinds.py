"""Kinds of debug files and their quality levels."""

from enum import IntEnum, StrEnum
from typing import Final


class FileKind(StrEnum):
    """The kind of a debug file; the texts are stored."""

    EXECUTABLE = "executable"
    """The image itself: program, library, module, vmlinux."""
    DEBUGINFO = "debuginfo"
    """Output of `objcopy --only-keep-debug`."""
    SYMBOLS = "symbols"
    """Symbol tables, segments and build-id only: the form that gateways send."""
    KALLSYMS = "kallsyms"
    """Symbols of a kernel and of its loaded modules."""
    ALTLINK = "altlink"
    """DWARF that `dwz -m` moved out of several files; its binary key is its own build-id."""
    SPLIT = "split"
    """A `.dwo` or `.dwp` that belongs to a binary."""


class Quality(IntEnum):
    """How much a debug file resolves; the numbers are stored and compared (higher is better)."""

    NONE = 0
    """Segments at most: addresses can be placed but not named."""
    DYNSYM = 1
    """Exported names only."""
    SYMTAB = 2
    """All names, no lines."""
    DWARF = 3
    """Names, files, lines, inlined calls."""


NAMING: Final = (FileKind.EXECUTABLE, FileKind.DEBUGINFO, FileKind.SYMBOLS, FileKind.KALLSYMS)
"""Kinds that name functions by themselves; the other kinds only complete one of these."""
EVERY_KIND: Final = tuple(FileKind)
