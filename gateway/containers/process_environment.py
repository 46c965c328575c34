"""Labels that a process was given in its environment, by allow-list.

An environment holds secrets. What the operator has not named is compared and forgotten; a value that is long or
not printable is taken for something else than a label. What is seen is the environment at the start of the program:
later changes stay in its memory.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES: Final = 128 << 10
"""Of an environment that are read. The kernel allows megabytes; schedulers set theirs early."""
MAX_VALUE: Final = 128
"""Characters of a value; a longer one is no label, and cut it would be equal to others."""

Labels = tuple[tuple[str, str], ...]


def parse_environment(data: bytes, allowed: Mapping[bytes, str]) -> Labels:
    """Labels by their names, sorted; of a variable that is there twice the first counts, as for getenv(3)."""
    found: dict[str, str] = {}
    for entry in data.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        label = allowed.get(name) if equals else None
        if label is not None and label not in found and len(value) <= 4 * MAX_VALUE:
            found[label] = _printable(value)
    return tuple(sorted((label, text) for label, text in found.items() if text))


def read_environment(pid: int, allowed: Mapping[bytes, str]) -> Labels:
    """The labels of a process; none where it may not be looked at or has ended."""
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
    # The last one may be cut.
    return parse_environment(data if size < MAX_BYTES else data[: data.rfind(b"\0") + 1], allowed)


def _printable(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() and len(text) <= MAX_VALUE else ""
