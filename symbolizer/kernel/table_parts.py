"""The parts of a kernel table (`symbolizer.kernel.kallsyms`): one for the kernel, one for each loaded module.

Machines with one kernel have different modules loaded, so their tables differ, but common parts are equal.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Final

from symbolizer.errors import MalformedImage
from symbolizer.kernel.kallsyms import MAX_MODULES, TABLE_MAGIC, kernel_of_table

MAX_FUNCTIONS: Final = 1 << 22
"""Limit of all parts together; a kernel with all its modules has some 300,000."""
_MAX_LINE: Final = 1 << 16
_FUNCTION: Final = re.compile(rb"[0-9a-f]{1,16} [tTwW] \S+\n")
_PIECE_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class TablePart:
    """One image of a table."""

    key: str
    """Build-id in hex; `path:[name]` for a module without one, as for binaries."""
    head: bytes
    """Its description line."""
    start: int
    """Start of its functions in the file."""
    end: int
    digest: bytes
    """SHA-256 of its description and its functions."""


def read_parts(file: IO[bytes]) -> list[TablePart]:
    """The parts of a table at the start of `file`, the kernel first. Raises `MalformedImage`, OSError."""
    heads = _heads(file)
    counts = [int(head.rpartition(b" ")[2], 16) for head in heads]
    if sum(counts) > MAX_FUNCTIONS:
        raise MalformedImage(f"It has {sum(counts):,} functions; the limit is {MAX_FUNCTIONS:,}.")
    found: list[TablePart] = []
    at = file.tell()
    for head, count in zip(heads, counts, strict=True):
        digest = sha256(head + b"\n")
        start = at
        for _ in range(count):
            line = file.readline(_MAX_LINE)
            if _FUNCTION.fullmatch(line) is None:
                raise MalformedImage("It has fewer functions than stated, or a malformed one.")
            digest.update(line)
            at += len(line)
        found.append(TablePart(_key(head), head, start, at, digest.digest()))
    if file.read(1):
        raise MalformedImage("It has more functions than stated.")
    if len({part.key for part in found}) < len(found):
        raise MalformedImage("It describes an image twice.")
    return found


def write_parts(source: IO[bytes], parts: Sequence[TablePart], target: Path) -> None:
    """Write a table of some parts of `source`, the kernel first, as if no other modules were loaded. Raises OSError."""
    with target.open("xb") as file:
        file.write(TABLE_MAGIC + b"\n".join(part.head for part in parts) + b"\n\n")
        for part in parts:
            source.seek(part.start)
            for at in range(part.start, part.end, _PIECE_BYTES):
                file.write(source.read(min(_PIECE_BYTES, part.end - at)))


def _heads(file: IO[bytes]) -> list[bytes]:
    """The description lines; leaves the file positioned after them."""
    lines = [file.readline(_MAX_LINE)]
    while lines[-1] != b"\n":
        lines.append(file.readline(_MAX_LINE))
        if not lines[-1].endswith(b"\n") or len(lines) > MAX_MODULES:
            raise MalformedImage("The descriptions of its images are malformed.")
    kernel_of_table(b"".join(lines))
    return [line[:-1] for line in lines[1:-1]]


def _key(head: bytes) -> str:
    *what, build, _size, _count = head.split()
    return build.decode() if build != b"-" else f"path:[{what[-1].decode('utf-8', 'replace')}]"
