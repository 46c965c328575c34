"""What building a file's symbols will take, told from its section headers alone."""

from dataclasses import dataclass
from typing import Final

from symbolizer.elf.records import SHF_COMPRESSED, SHT_NOBITS
from symbolizer.sources.source import Found

_PREFIXES: Final = (".debug_", ".zdebug_")
_INFLATION: Final = 4
"""Compressed debug data becomes up to this many times as large (zlib 2.5 to 3.5 on C++ and Rust)."""
_SECONDS_PER_BYTE: Final = 25 / (1 << 30)
"""Of LTO-built C++, the slowest measured; a kernel takes a tenth of it."""
_SECONDS_FIXED: Final = 0.3
"""A child that imports numpy and the library."""


@dataclass(frozen=True, slots=True)
class DebugSize:
    """Of a file's debug data, as far as section headers tell."""

    file: int
    """Bytes of the whole file."""
    plain: int
    """Of debug sections that are not compressed, of which none counts for more than the file."""
    compressed: int
    """Of those that are, as they lie in the file."""

    @property
    def memory_bytes(self) -> int:
        """What a builder has before it before it has built anything: the file mapped, sections inflated."""
        return self.file + _INFLATION * self.compressed

    @property
    def seconds(self) -> float:
        """CPU seconds that a build takes, rather more than less."""
        return _SECONDS_FIXED + _SECONDS_PER_BYTE * (self.plain + _INFLATION * self.compressed)


def debug_size(found: Found) -> DebugSize:
    """The size of a file's debug data. Raises `MalformedElf`."""
    plain = compressed = 0
    for name, index in found.elf.section_names.items():
        section = found.elf.sections[index]
        if not name.startswith(_PREFIXES) or section["type"] == SHT_NOBITS:
            continue
        if name.startswith(".z") or int(section["flags"]) & SHF_COMPRESSED:
            compressed += int(section["size"])
        else:
            plain += int(section["size"])
    size = found.content.size
    return DebugSize(size, min(plain, size), min(compressed, size))
