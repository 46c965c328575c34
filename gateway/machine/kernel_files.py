"""Small files of /proc and /sys. A missing, forbidden or damaged file means unknown, never an error.

A CPU may go offline between listing a folder and reading its files, a driver may return EBUSY or EAGAIN, and a
container may hide half of /sys. `pathlib` would cost as much as the reading: on a machine of 256 CPUs one capture reads
thousands of these files.
"""

from __future__ import annotations

import os
from typing import Final

MAX_BYTES: Final = 1 << 20
"""Limit of bytes read from a file; /proc/meminfo and the like have a few thousand."""
_PIECE: Final = 1 << 12
NOT_KNOWN: Final = -1


def read_text(path: str, limit: int = MAX_BYTES) -> str:
    """The file's text, at most `limit` bytes of it; "" if unreadable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return ""
    try:
        data = os.read(descriptor, min(_PIECE, limit))
        if len(data) == _PIECE:
            pieces = [data]
            size = len(data)
            while size < limit and (piece := os.read(descriptor, min(1 << 16, limit - size))):
                pieces.append(piece)
                size += len(piece)
            data = b"".join(pieces)
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "replace")


def read_line(path: str) -> str:
    """The file's first line without surrounding blanks; "" if there is none."""
    return read_text(path, _PIECE).partition("\n")[0].strip()


def read_number(path: str) -> int:
    """The integer ≥ 0 in a file; −1: none, or unreadable."""
    text = read_text(path, 64).strip()
    return int(text) if text.isascii() and text.isdigit() else NOT_KNOWN


def names_in(path: str) -> list[str]:
    """Names in a folder, sorted; none if unreadable."""
    try:
        return sorted(os.listdir(path))  # noqa: PTH208 - a Path for each name costs more than the call
    except OSError:
        return []
