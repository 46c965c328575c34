"""Which control group a process is in, from the text of /proc/PID/cgroup (cgroups(7))."""

from __future__ import annotations

from typing import Final

_MAX_PATH: Final = 4096
"""PATH_MAX; a longer path is damage."""


def choose_cgroup(text: str) -> str:
    """Choose the path from the text of /proc/PID/cgroup: version 2's, unless only version 1 says more.

    On a mixed system the version 2 hierarchy may hold everything at its root while version 1's hold the
    containers; `name=systemd` is the one that all managers fill. A gateway in a control group namespace of its own
    sees the groups beside its own as "/../NAME".
    """
    unified = ""
    named = ""
    other = ""
    for line in text.split("\n"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        # The kernel adds this to groups that were removed while the process ends.
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
