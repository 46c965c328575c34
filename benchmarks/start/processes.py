"""Memory and CPU time of all processes of one `fleetprof up`, including its servers."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.cpu_time import descendants, tree_cpu_s
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Stack:
    """The processes of the `up` of one state directory."""

    pid: int
    state: Path

    def roots(self) -> dict[str, int]:
        """Processes whose descendants belong to the stack: the servers are no children of `up`."""
        servers = {
            "PostgreSQL": EmbeddedPostgres(self.state / "postgres").pid,
            "Valkey": EmbeddedValkey(self.state / "valkey").pid,
        }
        return {"up": self.pid} | {name: pid for name, pid in servers.items() if pid is not None}

    def cpu_s(self) -> float:
        """CPU seconds of all processes so far, including reaped children."""
        return sum(tree_cpu_s(pid) for pid in self.roots().values())

    def pss_mib(self) -> dict[str, float]:
        """Proportional set size by part, in MiB; forked children count with their part."""
        sizes: dict[str, float] = {}
        for name, root in self.roots().items():
            for pid in descendants(root):
                with suppress(OSError):  # ended meanwhile
                    part = name if name != "up" else _part(pid)
                    sizes[part] = sizes.get(part, 0.0) + _pss_kib(pid) / 1024
        return sizes


def _part(pid: int) -> str:
    """`up`, or the part by its command: `python -P -m services api`, `python -P -m gateway …`."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    modules = iter(words)
    for word in modules:
        if word == "-m":
            module = next(modules, "")
            return next(modules, "") if module == "services" else module
    return "other"


def _pss_kib(pid: int) -> int:
    return next(_values(Path(f"/proc/{pid}/smaps_rollup").read_text()), 0)


def _values(rollup: str) -> Iterator[int]:
    for line in rollup.splitlines():
        field, _, value = line.partition(":")
        if field == "Pss":
            yield int(value.split()[0])
