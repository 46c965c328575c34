"""Memory that several processes share, optionally backed by a file that outlives them."""

from __future__ import annotations

import mmap
import os
import stat
from typing import TYPE_CHECKING

from gateway.errors import UnsafeAddress

if TYPE_CHECKING:
    from pathlib import Path


def shared_memory(size: int, file: Path | None = None) -> mmap.mmap:
    """`size` bytes, initially zero; forks share them. A file keeps them for the next daemon.

    A file of another size is from another version and is cleared. Raises UnsafeAddress for a file that is not this
    user's regular file, OSError if it cannot be written.
    """
    if file is None:
        return mmap.mmap(-1, size)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(file, flags, 0o600)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise UnsafeAddress(
                f"{file} does not belong to this user; remove it or choose another --state-dir"
            )
        if status.st_size != size:
            os.ftruncate(descriptor, 0)
            # Allocated, not sparse: on a full disk a hole would cause SIGBUS during a capture.
            os.posix_fallocate(descriptor, 0, size)
        return mmap.mmap(descriptor, size)
    finally:
        os.close(descriptor)
