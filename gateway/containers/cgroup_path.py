"""The control group of a process, from the text of /proc/PID/cgroup (cgroups(7))."""

from __future__ import annotations

from typing import Final

_MAX_PATH: Final = 4096
"""PATH_MAX; a longer path is invalid."""


def choose_cgroup(text: str) -> str:
    """Choose the path from the text of /proc/PID/cgroup: version 2's, unless only version 1 is more specific.

    On a mixed system the version 2 hierarchy may hold all processes in its root while version 1's hold the containers;
    all managers fill `name=systemd`. A gateway in its own control group namespace sees groups next to its own as
    "/../NAME".
    """
    unified = ""
    named = ""
    other = ""
    for line in text.split("\n"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        # The kernel appends this for groups that were removed while the process ends.
        path = path.removesuffix(" (deleted)")
        if not path.startswith("/") or len(path) > _MAX_PATH:
            continue
        if number == "0" and not controllers:
            unified = path
        elif controllers == "name=systemd":
            named = path
        elif len(path) > len(other):
            other = path
    for path in (unified, named, other):
        if path.strip("/"):
            return path
    return unified or named or other
