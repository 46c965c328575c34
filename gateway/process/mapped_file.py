"""Opening the file behind a mapping: the right inode, or none.

/proc/PID/map_files leads to the very inode that is mapped, whatever happened to its path and whichever
mount namespace the process lives in, but needs CAP_CHECKPOINT_RESTORE. By path, inside the process's root
or in the gateway's own (for a process that has just ended), another file may have taken the place, so a
file opened by path counts only if its inode or its build id is the mapping's.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.process.maps import Vma

# A device opened by mistake may do something; a pipe may block. What is opened by O_PATH cannot do anything yet;
# only a regular file is opened further, and no other file can have taken its place meanwhile.
_LOOK: Final = os.O_PATH | os.O_CLOEXEC
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Signature(NamedTuple):
    """What tells one content of a file from another without reading it."""

    device: int
    inode: int
    size: int
    modified_ns: int


class Candidate(NamedTuple):
    """An open file that may be the mapped one. `certain`: it is; else the build id must decide."""

    descriptor: int
    signature: Signature
    certain: bool


def candidates(pid: int, vma: Vma) -> Iterator[Candidate]:
    """Yield open files that may be behind a mapping, best first; the caller closes each one.

    What is not a regular file is never opened.
    """
    yield from _candidate(f"/proc/{pid}/map_files/{vma.start:x}-{vma.end:x}", None)
    if vma.deleted:
        return
    yield from _candidate(f"/proc/{pid}/root{vma.path}", vma)
    yield from _candidate(vma.path, vma)


def _candidate(path: str, expected: Vma | None) -> Iterator[Candidate]:
    """Yield the file at `path` if it can be opened; `expected` is the mapping to compare it with."""
    try:
        found = os.open(path, _LOOK)
        try:
            status = os.fstat(found)
            if not stat.S_ISREG(status.st_mode):
                return
            descriptor = os.open(f"/proc/self/fd/{found}", _FLAGS)
        finally:
            os.close(found)
    except (OSError, ValueError):
        return
    signature = Signature(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    certain = expected is None or (
        status.st_ino == expected.inode
        and (os.major(status.st_dev), os.minor(status.st_dev)) == expected.device
    )
    yield Candidate(descriptor, signature, certain)
