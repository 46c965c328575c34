"""The only module that opens files that other users own or choose: programs, perf maps, container state, secrets.

Threats to a reader with the gateway's rights, and the defence:

- A FIFO blocks, opening a device may have effects: O_PATH has no side effect; only a regular file is opened.
- The owner may hold a lease (F_SETLEASE in fcntl(2)), for whose end open(2) waits up to
  /proc/sys/fs/lease-break-time, 45 s; seen with a perf map, in the thread that drains the rings. With O_NONBLOCK open
  returns EWOULDBLOCK, and the file is refused.
- A program may serve the file system (FUSE), also below an overlay: `file_systems` is checked before any call that such
  a program could see. Looking up a name in a folder is one: use `pinned_by_walk` for paths through others' folders.
- Another file may take its place: the checked file itself is opened, by /proc/self/fd.
- It may be endless: `read_untrusted` has a limit.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from gateway.errors import FileRefused
from gateway.process.file_systems import why_not_served
from gateway.process.mounts import mount_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOOK: Final = os.O_PATH | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_PIECE_BYTES: Final = 1 << 18
NO_REGULAR_FILE: Final = "it is not a regular file"


@contextmanager
def pinned(
    path: str | Path, *, pid: int | None = None, folder: int | None = None, flags: int = 0
) -> Iterator[int]:
    """Pin a file or folder without opening it: an O_PATH descriptor, valid for fstat and as the folder of a look-up.

    `pid` is the process that sees it, None: this one; `folder` is a pinned folder that a relative path begins in;
    `flags` may be O_NOFOLLOW and O_DIRECTORY. Raises FileRefused if a user's program may serve it, OSError, ValueError.
    """
    descriptor = os.open(path, _LOOK | flags, dir_fd=folder)
    try:
        if why := why_not_served(descriptor, os.getpid() if pid is None else pid):
            raise FileRefused(why)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def pinned_by_walk(path: str, *, pid: int | None = None, folder: int | None = None) -> Iterator[int]:
    """Like `pinned`, for an untrusted path: each folder is checked before a name is looked up in it.

    A look-up below a mount that a user's program serves waits for that program (seen with one mounted `allow_other` in
    the gateway's own namespace). `path` begins in `folder`, else in the root. Links are not followed: the kernel
    writes paths of mappings without them. Raises FileRefused, OSError, ValueError.
    """
    viewer = os.getpid() if pid is None else pid
    names = [name for name in path.split("/") if name not in {"", "."}]
    if not names or ".." in names:
        raise FileRefused("it is not a file path")
    at = os.open("/" if folder is None else ".", _LOOK | os.O_DIRECTORY, dir_fd=folder)
    try:
        mount = b""
        for name in (".", *names):
            found = os.open(name, _LOOK | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = found
            if (its := mount_id(at)) != mount or not its:
                if why := why_not_served(at, viewer):
                    raise FileRefused(why)
                mount = its
        yield at
    finally:
        os.close(at)


def open_pinned(descriptor: int) -> int:
    """Open a pinned regular file for reading; the caller closes it. Raises FileRefused, OSError."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise FileRefused(NO_REGULAR_FILE)
    try:
        return os.open(f"/proc/self/fd/{descriptor}", _READ)
    except BlockingIOError as reason:
        raise FileRefused(
            "another process holds a lease on it (F_SETLEASE), and opening it would block"
        ) from reason


def open_untrusted(path: str | Path, *, pid: int | None = None, flags: int = 0) -> int:
    """Open the regular file at a path for reading; the caller closes it. Parameters and errors as for `pinned`."""
    with pinned(path, pid=pid, flags=flags) as found:
        return open_pinned(found)


def read_untrusted(path: str | Path, limit: int, *, flags: int = 0) -> bytes:
    """The content of the regular file at a path. Raises FileRefused, also above `limit` bytes, OSError, ValueError."""
    descriptor = open_untrusted(path, flags=flags)
    try:
        return read_opened(descriptor, limit)
    finally:
        os.close(descriptor)


def read_opened(descriptor: int, limit: int) -> bytes:
    """The content of an open file from its position on. Raises FileRefused above `limit` bytes, OSError."""
    pieces: list[bytes] = []
    size = 0
    while piece := os.read(descriptor, min(_PIECE_BYTES, limit + 1 - size)):
        size += len(piece)
        if size > limit:
            raise FileRefused(f"it has more than {limit} bytes")
        pieces.append(piece)
    return b"".join(pieces)
