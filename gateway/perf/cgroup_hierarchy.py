"""The control group hierarchy of perf events, and the directory of a process's group in it.

An event of a control group counts its tasks and those of the groups below it (PERF_FLAG_PID_CGROUP). The kernel uses
the version 1 hierarchy of `perf_event` if it is mounted, else version 2 (perf_event_open(2), cgroups(7)).
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
    """A mounted hierarchy; `controller` is "perf_event", or "" for version 2."""

    mount: Path
    controller: str

    def path_of(self, pid: int, proc: Path = PROC) -> str:
        """The control group path of a process in this hierarchy, for `open`; "" if unknown.

        Any user can name a group with arbitrary bytes; use `printable_path` for output.
        """
        try:
            # Binary: a text file would treat a carriage return, which a name may contain, as the end of a line.
            with (proc / str(pid) / "cgroup").open("rb") as file:
                return self.parse(os.fsdecode(file.read(_MAX_BYTES)))
        except OSError:
            return ""

    def parse(self, text: str) -> str:
        """The path in this hierarchy from the text of /proc/PID/cgroup; "" for a group outside our view."""
        # Not splitlines: of its line ends the kernel forbids only the newline in a name.
        for line in text.split("\n"):
            _, _, rest = line.partition(":")
            controllers, colon, path = rest.partition(":")
            if colon and self.controller in controllers.split(","):
                return "" if path.startswith("/..") or not path.startswith("/") else path
        return ""

    def open(self, path: str) -> int:
        """A descriptor of the group's directory; raises OSError if it is gone."""
        return os.open(self.mount / path.lstrip("/"), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def perf_hierarchy(proc: Path = PROC) -> Hierarchy | None:
    """The hierarchy of perf events, by /proc/self/mounts; None: it is not mounted in our view."""
    try:
        text = os.fsdecode((proc / "self/mounts").read_bytes())
    except OSError:
        return None
    return parse_mounts(text)


def parse_mounts(text: str) -> Hierarchy | None:
    r"""Parse the text of /proc/self/mounts; it encodes blanks in paths as `\\040`."""
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
    """A path as text: bytes that are not UTF-8 are replaced, as in the groups of processes."""
    return os.fsencode(path).decode("utf-8", "replace")


def disjoint_groups(ranked: list[str], most: int) -> list[str]:
    """The first `most` paths that neither contain each other nor are the root.

    So a sum over these control groups counts nothing twice.
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
