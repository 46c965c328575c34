"""Labels from a process's environment, by allow-list.

An environment holds secrets. Variables that the operator has not named are skipped; a value that is long or not
printable is not a label. It is the environment at the start of the program: later changes stay in its memory.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES: Final = 128 << 10
"""Limit of bytes read. The kernel allows megabytes; schedulers set their variables early."""
MAX_VALUE: Final = 128
"""Longest value; a longer one is not a label, and truncated it would equal others."""

Labels = tuple[tuple[str, str], ...]


def parse_environment(data: bytes, allowed: Mapping[bytes, str]) -> Labels:
    """Labels sorted by name; of a repeated variable the first one counts, as for getenv(3)."""
    found: dict[str, str] = {}
    for entry in data.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        label = allowed.get(name) if equals else None
        if label is not None and label not in found and len(value) <= 4 * MAX_VALUE:
            found[label] = _printable(value)
    return tuple(sorted((label, text) for label, text in found.items() if text))


def read_environment(pid: int, allowed: Mapping[bytes, str]) -> Labels:
    """The labels of a process; none if it may not be read or has ended."""
    if not allowed:
        return ()
    try:
        descriptor = os.open(f"/proc/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ()
    pieces = []
    size = 0
    try:
        while size < MAX_BYTES and (piece := os.read(descriptor, MAX_BYTES - size)):
            pieces.append(piece)
            size += len(piece)
    except OSError:
        return ()
    finally:
        os.close(descriptor)
    data = b"".join(pieces)
    # The last one may be incomplete.
    return parse_environment(data if size < MAX_BYTES else data[: data.rfind(b"\0") + 1], allowed)


def _printable(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() and len(text) <= MAX_VALUE else ""
