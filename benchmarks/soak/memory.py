"""Memory of the parts of a running `fleetprof up`, by reading /proc."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.cpu_time import descendants

if TYPE_CHECKING:
    from collections.abc import Iterable


def memory_mib(root: int, servers: Iterable[tuple[str, int]]) -> dict[str, float]:
    """MiB by part: the children of the process `root` by their commands, and servers by their names.

    Pages that several processes share (libraries, unmodified pages of forked children) are counted once. Shared memory
    is not counted, because PostgreSQL's buffers fill up only once.
    """
    parts: dict[str, float] = {}
    own = set(descendants(root))
    for name, pid in servers:
        below = set(descendants(pid))
        own -= below
        parts[name] = sum(map(_own_mib, below))
    for pid in own:
        name = "up" if pid == root else _part(pid)
        if name:
            parts[name] = parts.get(name, 0.0) + _own_mib(pid)
    return parts


def _own_mib(pid: int) -> float:
    """Proportional set size; 0 if it has just ended."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    fields = dict(line.split(":", 1) for line in rollup.splitlines() if ":" in line)
    return sum(int(fields.get(name, "0 kB").split()[0]) for name in ("Pss_Anon", "Pss_File")) / 1024


def _part(pid: int) -> str:
    """Part of a child of `up`: the word after its module; "" if it has just ended."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    if "-m" in words:
        module, *arguments = words[words.index("-m") + 1 :]
        return (
            arguments[0]
            if module == "services" and arguments
            else module.removesuffix(".__main__").rpartition(".")[2]
        )
    return os.path.basename(words[0].split(" ")[0]) or ""  # noqa: PTH119 - a title is not always a path
