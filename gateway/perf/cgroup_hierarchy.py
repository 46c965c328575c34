"""Control groups as perf events count them: which hierarchy the kernel means, and the directory of a process's.

An event of a control group counts its tasks and those of the groups below it (PERF_FLAG_PID_CGROUP). The kernel
means the version 1 hierarchy of `perf_event` where one is mounted, else version 2 (perf_event_open(2), cgroups(7)).
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.machine.topology import PROC

_PERF_EVENT: Final = "perf_event"
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")
_MAX_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Where it is mounted; `controller` is "perf_event", or "" for version 2."""

    mount: Path
    controller: str

    def path_of(self, pid: int, proc: Path = PROC) -> str:
        """The control group of a process as this hierarchy has it, for `open`; "" where it cannot be told.

        Anybody may name a group of his own with any bytes; `printable_path` is what may be written of it.
        """
        try:
            # Bytes: a text file would take a carriage return, which a name may hold, for the end of a line.
            with (proc / str(pid) / "cgroup").open("rb") as file:
                return self.parse(os.fsdecode(file.read(_MAX_BYTES)))
        except OSError:
            return ""

    def parse(self, text: str) -> str:
        """Of /proc/PID/cgroup, the path in this hierarchy; "" for one outside what we may see."""
        # Not splitlines: of all that ends a line there, the kernel forbids only this one in a name.
        for line in text.split("\n"):
            _, _, rest = line.partition(":")
            controllers, colon, path = rest.partition(":")
            if colon and self.controller in controllers.split(","):
                return "" if path.startswith("/..") or not path.startswith("/") else path
        return ""

    def open(self, path: str) -> int:
        """A descriptor of the group's directory; raises OSError where it is gone."""
        return os.open(self.mount / path.lstrip("/"), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def perf_hierarchy(proc: Path = PROC) -> Hierarchy | None:
    """The hierarchy that perf events mean, by /proc/self/mounts; None: no such is mounted where we see it."""
    try:
        text = os.fsdecode((proc / "self/mounts").read_bytes())
    except OSError:
        return None
    return parse_mounts(text)


def parse_mounts(text: str) -> Hierarchy | None:
    r"""Of the text of /proc/self/mounts; blanks in paths are written as `\\040`."""
    second = None
    for line in text.split("\n"):
        fields = line.split(" ")
        if len(fields) < 4:
            continue
        mount = Path(_ESCAPE.sub(lambda octal: chr(int(octal[1], 8)), fields[1]))
        if fields[2] == "cgroup" and _PERF_EVENT in fields[3].split(","):
            return Hierarchy(mount, _PERF_EVENT)
        if fields[2] == "cgroup2" and second is None:
            second = Hierarchy(mount, "")
    return second


def printable_path(path: str) -> str:
    """A path as text that can be sent: bytes that are no UTF-8 are replaced, as in the groups of processes."""
    return os.fsencode(path).decode("utf-8", "replace")


def disjoint_groups(ranked: list[str], most: int) -> list[str]:
    """The first `most` paths of which none lies in another, nor is the whole machine.

    The sum over control groups must not hold anything twice.
    """
    kept: list[str] = []
    for path in ranked:
        if len(kept) == most:
            break
        if path != "/" and not any(_within(path, other) or _within(other, path) for other in kept):
            kept.append(path)
    return kept


def _within(path: str, other: str) -> bool:
    return path == other or path.startswith(other + "/")
