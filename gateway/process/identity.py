"""Who a process is: its names, its control group, and the script that an interpreter runs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from gateway.errors import AccessDenied, ProcessGone
from gateway.process.script import script_name

_MAX_FILE_BYTES: Final = 16 << 10
_PF_KTHREAD: Final = 0x00200000
# Field of /proc/PID/stat that holds the flags, counted from the state behind the name in parentheses.
_FLAGS_FIELD: Final = 6
_DELETED: Final = " (deleted)"

# Docker, containerd, CRI-O and Podman name a container by 64 hex digits, bare or in a scope's name;
# ECS tasks on Fargate by 32 and a number.
_CONTAINER: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_ECS_TASK: Final = re.compile(r"/ecs/.*/([0-9a-f]{32}-[0-9]+)$")


@dataclass(frozen=True, slots=True)
class Identity:
    """What a process is called. Text is decoded with replacement; empty: there is none, or not readable.

    `exe` is the path as the process sees it, `script` a base name, module or main class, `cgroup` the path
    below the hierarchy's mount, `container` hex digits, `unit` systemd's unit that the process is in.
    """

    comm: str
    exe: str
    script: str
    cgroup: str
    container: str
    unit: str
    kernel_thread: bool


def read_identity(pid: int) -> Identity:
    """Read who a process is. Raises ProcessGone; AccessDenied where /proc hides the process (hidepid)."""
    stat = _read(pid, "stat", required=True)
    comm = stat[stat.find(b"(") + 1 : stat.rfind(b")")].decode("utf-8", "replace")
    fields = stat[stat.rfind(b")") + 1 :].split()
    try:
        kernel_thread = bool(int(fields[_FLAGS_FIELD]) & _PF_KTHREAD)
    except (IndexError, ValueError):
        kernel_thread = False
    if kernel_thread:
        return Identity(comm, "", "", "", "", "", kernel_thread=True)
    try:
        exe = os.readlink(f"/proc/{pid}/exe").removesuffix(_DELETED)  # noqa: PTH115 - a Path costs more than the call
    except OSError:
        exe = ""
    exe = exe.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    script = script_name(exe, _read(pid, "cmdline"))
    cgroup = control_group(_read(pid, "cgroup").decode("utf-8", "replace"))
    return Identity(
        comm, exe, script, cgroup, container_id(cgroup), systemd_unit(cgroup), kernel_thread=False
    )


def control_group(text: str) -> str:
    """Choose the path from the text of /proc/PID/cgroup: version 2's, unless only version 1 says more.

    On a mixed system the version 2 hierarchy may hold everything at its root while version 1's hold the
    containers; `name=systemd` is the one that all managers fill.
    """
    unified = ""
    named = ""
    other = ""
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
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


def container_id(cgroup: str) -> str:
    """Return the innermost container's id in a control group's path; empty: none is recognized."""
    found = _CONTAINER.findall(cgroup)
    if found:
        return str(found[-1])
    task = _ECS_TASK.search(cgroup)
    return task[1] if task else ""


def systemd_unit(cgroup: str) -> str:
    """Return the innermost service of a control group's path, else its innermost scope; empty: none."""
    parts = cgroup.split("/")
    for suffix in (".service", ".scope"):
        for part in reversed(parts):
            if part.endswith(suffix) and part != suffix:
                return part
    return ""


def _read(pid: int, name: str, *, required: bool = False) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123 - Path costs twice the read
            return file.read(_MAX_FILE_BYTES) or b""
    except (FileNotFoundError, ProcessLookupError) as reason:
        if required:
            raise ProcessGone(f"process {pid} has ended") from reason
    except PermissionError as reason:
        if required:
            raise AccessDenied(f"process {pid} may not be looked at") from reason
    except OSError:
        if required:
            raise
    return b""
