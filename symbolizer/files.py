"""Positional reads from open files."""

import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self


class OpenedFile:
    """A regular file, opened for reading; closed by `close` or the end of `with`.

    The file is read instead of mapped: if it shrinks meanwhile, reads are short, whereas an access to a
    mapping beyond the new end would kill the process.
    """

    def __init__(self, path: Path, descriptor: int | None = None) -> None:
        """Open the path, or take ownership of an open descriptor.

        Raises OSError, also for anything but a regular file, or a file under a lease (F_SETLEASE in fcntl(2)). Never
        waits for a FIFO's other end or for a lease.
        """
        self.path = path
        self.descriptor = _open(path) if descriptor is None else descriptor
        status = os.fstat(self.descriptor)
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise FileNotFoundError(f"{path} is not a regular file")
        self.size = status.st_size
        self.modified_ns = status.st_mtime_ns

    def close(self) -> None:
        """Close the descriptor; a second call does nothing."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, where: slice) -> bytes:
        start, stop, _ = where.indices(self.size)
        parts = []
        while start < stop:
            part = os.pread(self.descriptor, min(stop - start, 1 << 30), start)
            if not part:
                break
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _open(path: Path) -> int:
    # O_PATH has no side effects; opening a device by mistake may have some.
    found = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(found).st_mode):
            raise FileNotFoundError(f"{path} is not a regular file")
        return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except BlockingIOError as error:
        raise BlockingIOError(error.errno, "another process holds a lease on it", str(path)) from error
    finally:
        os.close(found)
