"""Whether this machine can be sampled, and how much of it is visible to the gateway."""

from __future__ import annotations

import errno
import os
import re
from enum import Enum
from pathlib import Path
from typing import Final

from fleetpb import capture_pb2
from gateway.errors import EventUnavailable, UnsupportedHost
from gateway.perf.events import EVENTS, probe, support_of
from gateway.settings import OwnProcesses

# sample_max_stack, the newest field that every capture sets.
_OLDEST_LINUX: Final = (4, 8)
_PARANOID: Final = Path("/proc/sys/kernel/perf_event_paranoid")
# The highest kernel.perf_event_paranoid at which an unprivileged user can sample own processes.
_OWN_PROCESSES_LEVEL: Final = 2


class Access(Enum):
    """Scope of sampling."""

    MACHINE = "machine"
    OWN = "own"


def require_supported(system: str, release: str, architecture: str) -> None:
    """Check the fields of os.uname(); raises UnsupportedHost with one sentence."""
    if system != "Linux":
        raise UnsupportedHost(f"The gateway samples by Linux perf events; this system is {system}.")
    version = re.match(r"(\d+)\.(\d+)", release)
    if version and (int(version[1]), int(version[2])) < _OLDEST_LINUX:
        oldest = ".".join(map(str, _OLDEST_LINUX))
        raise UnsupportedHost(f"The gateway needs Linux {oldest} or newer; this is {release}.")
    if architecture != "x86_64":
        raise UnsupportedHost(
            f"The gateway reads x86-64 registers and rings; this machine is {architecture}."
        )


def find_access(own_processes: OwnProcesses) -> Access:
    """Probe what the kernel permits; raises EventUnavailable with the command that grants access."""
    cpu = EVENTS["cpu"]
    code = errno.EACCES
    if own_processes is not OwnProcesses.ALWAYS:
        code = probe(cpu, own=False)
        if not code:
            return Access.MACHINE
    if own_processes is not OwnProcesses.NEVER:
        code = probe(cpu, own=True)
        if not code:
            return Access.OWN
    raise EventUnavailable(refusal(code, _paranoid(), own_processes), support=support_of(code), errno=code)


def refusal(code: int, paranoid: int | None, own_processes: OwnProcesses) -> str:
    """One sentence: why no event opens, and the command that fixes it."""
    if support_of(code) != capture_pb2.SUPPORT_DENIED or paranoid is None:
        return f"perf events do not work on this machine: perf_event_open: {os.strerror(code)}"
    if own_processes is OwnProcesses.NEVER or paranoid <= _OWN_PROCESSES_LEVEL:
        return (
            "perf events are not permitted: the gateway lacks CAP_PERFMON; start it as root or grant it with: "
            "sudo setcap cap_perfmon,cap_sys_ptrace,cap_checkpoint_restore,cap_syslog,cap_dac_read_search,"
            "cap_ipc_lock+ep PYTHON (in a container: --cap-add PERFMON and a seccomp profile that allows it)"
        )
    return (
        f"perf events are not permitted: kernel.perf_event_paranoid is {paranoid}. With 3 or more, "
        "kernels of Debian and Ubuntu refuse CAP_PERFMON, too. With 2, the default of Linux, they "
        "accept it and allow a user to sample own processes: sudo sysctl kernel.perf_event_paranoid=2"
    )


def _paranoid() -> int | None:
    try:
        return int(_PARANOID.read_text())
    except (OSError, ValueError):
        return None
