"""Opens the file behind a mapping: the right inode, or none.

/proc/PID/map_files leads to the mapped inode itself, whatever happened to its path and in any mount namespace, but
needs CAP_CHECKPOINT_RESTORE. A path, inside the process's root or in the gateway's own (for a process that has just
ended), may lead to another file by now; a file opened by path counts only if its inode or build id is the mapping's. A
path is followed only if every mount on it was made by root or by the gateway's own user: on other file systems each
look-up of a name may block.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gateway.errors import FileRefused
from gateway.process.file_systems import trusts_mounts_of
from gateway.process.untrusted_file import open_pinned, pinned, pinned_by_walk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from gateway.process.maps import Vma


class Signature(NamedTuple):
    """Identifies a file's content without reading it."""

    device: int
    inode: int
    size: int
    modified_ns: int


class Candidate(NamedTuple):
    """An open file that may be the mapped one. `certain`: it is; otherwise the build id decides."""

    descriptor: int
    signature: Signature
    certain: bool


def candidates(pid: int, vma: Vma) -> Iterator[Candidate]:
    """Yield open files that may be behind a mapping, best first; the caller closes each one.

    Files that `untrusted_file` refuses are skipped; if it refuses the mapped inode itself, nothing else is tried.
    """
    with suppress(FileRefused):
        yield from _candidate(pinned(f"/proc/{pid}/map_files/{vma.start:x}-{vma.end:x}", pid=pid), None)
        if vma.deleted:
            return
        with suppress(OSError, FileRefused), pinned(f"/proc/{pid}/root", pid=pid) as root:
            # In this order: a process can leave the gateway's user namespace but never return to it.
            if trusts_mounts_of(pid):
                yield from _candidate(pinned_by_walk(vma.path, pid=pid, folder=root), vma)
        yield from _candidate(pinned_by_walk(vma.path), vma)


def _candidate(file: AbstractContextManager[int], expected: Vma | None) -> Iterator[Candidate]:
    """Yield the pinned file if it can be opened; `expected` is the mapping to compare it with.

    Raises FileRefused.
    """
    try:
        with file as found:
            status = os.fstat(found)
            descriptor = open_pinned(found)
    except (OSError, ValueError):
        return
    signature = Signature(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    certain = expected is None or (
        status.st_ino == expected.inode
        and (os.major(status.st_dev), os.minor(status.st_dev)) == expected.device
    )
    yield Candidate(descriptor, signature, certain)
