"""The identity of a process: its names, its control group, and the script that an interpreter runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.containers.cgroup_path import choose_cgroup
from gateway.containers.placement import parse_cgroup
from gateway.errors import AccessDenied, ProcessGone
from gateway.process.script_names import script_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.containers.process_environment import Labels

_MAX_FILE_BYTES: Final = 16 << 10
_PF_KTHREAD: Final = 0x00200000
# Index of the flags in /proc/PID/stat, counted from the state after the name in parentheses.
_FLAGS_FIELD: Final = 6
_DELETED: Final = " (deleted)"


@dataclass(frozen=True, slots=True)
class Identity:
    """The names of a process. Text is decoded with replacement; empty: none, or unreadable.

    - `exe`: the path as the process sees it; `script`: a base name, module or main class.
    - `cgroup`: the path below the hierarchy's mount; `container`: hex digits; `unit`: its systemd unit.
    - `labels`: variables of its environment that the operator allows as labels.
    """

    comm: str
    exe: str
    script: str
    cgroup: str
    container: str
    unit: str
    kernel_thread: bool
    labels: Labels = ()


def no_labels(_pid: int) -> Labels:
    """No labels from the process's environment."""
    return ()


def read_identity(pid: int, own_labels: Callable[[int], Labels] = no_labels) -> Identity:
    """Read the identity of a process. Raises ProcessGone; AccessDenied if /proc hides it (hidepid)."""
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
    cgroup = choose_cgroup(_read(pid, "cgroup").decode("utf-8", "replace"))
    placement = parse_cgroup(cgroup)
    return Identity(
        comm,
        exe,
        script,
        cgroup,
        placement.container,
        placement.unit,
        kernel_thread=False,
        labels=own_labels(pid),
    )


def _read(pid: int, name: str, *, required: bool = False) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123 - Path costs twice the read
            return file.read(_MAX_FILE_BYTES) or b""
    except (FileNotFoundError, ProcessLookupError) as reason:
        if required:
            raise ProcessGone(f"process {pid} has ended") from reason
    except PermissionError as reason:
        if required:
            raise AccessDenied(f"no access to process {pid}") from reason
    except OSError:
        if required:
            raise
    return b""
