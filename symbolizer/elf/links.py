"""An ELF file's references to files with its debug data: .gnu_debuglink and .gnu_debugaltlink."""

from dataclasses import dataclass
from typing import Final, Literal

MAX_BUILD_ID_BYTES: Final = 64
"""SHA-512, the longest existing digest; linkers write 8 to 32 bytes."""


@dataclass(frozen=True, slots=True)
class DebugLink:
    """.gnu_debuglink: base name of the debug file, and the CRC-32 of its whole content."""

    name: str
    crc32: int


@dataclass(frozen=True, slots=True)
class AltLink:
    """.gnu_debugaltlink: path and build-id of the file to which `dwz -m` moved common debug data."""

    path: str
    build_id: bytes


def debug_link_in(data: bytes, order: Literal["little", "big"]) -> DebugLink | None:
    """The content of .gnu_debuglink: a name, padding, a CRC-32; None: invalid."""
    end = data.find(b"\0")
    crc_at = -(-(end + 1) // 4) * 4
    if end <= 0 or crc_at + 4 > len(data):
        return None
    crc32 = int.from_bytes(data[crc_at : crc_at + 4], order)
    return DebugLink(data[:end].decode("utf-8", "replace"), crc32)


def alt_link_in(data: bytes) -> AltLink | None:
    """The content of .gnu_debugaltlink: a path and a build-id; None: invalid."""
    end = data.find(b"\0")
    if end <= 0 or not 1 <= len(data) - end - 1 <= MAX_BUILD_ID_BYTES:
        return None
    return AltLink(data[:end].decode("utf-8", "replace"), data[end + 1 :])
