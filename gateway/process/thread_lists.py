"""Thread ids in /proc: of one user, or of a process with its descendants."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# The process ended during the scan, or hidepid hides it.
_GONE: Final = (FileNotFoundError, ProcessLookupError, PermissionError)


def threads_of_user(proc: Path, user: int) -> Iterator[int]:
    """Threads of every process whose effective user is `user`."""
    for entry in os.scandir(proc):
        if not entry.name.isdigit():
            continue
        try:
            if entry.stat().st_uid == user:
                yield from _threads(entry.path)
        except _GONE:
            continue


def threads_of_tree(proc: Path, root: int) -> Iterator[int]:
    """Threads of the process `root` and of its descendants; nothing if it has ended."""
    children = defaultdict(list)
    for entry in os.scandir(proc):
        if entry.name.isdigit() and (parent := _parent(entry.path)):
            children[parent].append(int(entry.name))
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        waiting += children.pop(pid, ())
        try:
            yield from _threads(f"{proc}/{pid}")
        except _GONE:
            continue


def _threads(folder: str) -> list[int]:
    return [int(thread.name) for thread in os.scandir(f"{folder}/task")]


def _parent(folder: str) -> int:
    """The parent of a process; 0 if it has ended."""
    try:
        # The name in parentheses may contain spaces and parentheses.
        return int(Path(folder, "stat").read_bytes().rpartition(b")")[2].split()[1])
    except (*_GONE, IndexError, ValueError):
        return 0
