"""Estimates the cost of building a file's symbols from its section headers alone."""

from dataclasses import dataclass
from typing import Final

from symbolizer.elf.records import SHF_COMPRESSED, SHT_NOBITS
from symbolizer.sources.source import Found

_PREFIXES: Final = (".debug_", ".zdebug_")
_INFLATION: Final = 4
"""Upper bound of the ratio by which compressed debug data grows (zlib: 2.5 to 3.5 on C++ and Rust)."""
_SECONDS_PER_BYTE: Final = 25 / (1 << 30)
"""Measured on LTO-built C++, the slowest case; a kernel takes a tenth of it."""
_SECONDS_FIXED: Final = 0.3
"""Start of a child that imports numpy and the library."""


@dataclass(frozen=True, slots=True)
class DebugSize:
    """Size of a file's debug data, from its section headers."""

    file: int
    """Bytes of the whole file."""
    plain: int
    """Bytes of uncompressed debug sections; each counts for at most the file's size."""
    compressed: int
    """Bytes of compressed debug sections, as stored in the file."""

    @property
    def memory_bytes(self) -> int:
        """Memory that a build needs for its input: the file mapped, sections inflated."""
        return self.file + _INFLATION * self.compressed

    @property
    def seconds(self) -> float:
        """CPU seconds of a build, rather over- than underestimated."""
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
