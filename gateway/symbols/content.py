"""Content to send: its name, its length, and its bytes in pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE_BYTES: Final = 256 << 10


@dataclass(frozen=True, slots=True)
class Content:
    """Iterate `pieces` once; they have `raw_bytes` in all, and each at most `PIECE_BYTES`."""

    name: str
    raw_bytes: int
    pieces: Iterator[bytes]


def sliced(data: bytes) -> Iterator[bytes]:
    """Split bytes into pieces."""
    for start in range(0, len(data), PIECE_BYTES):
        yield data[start : start + PIECE_BYTES]
