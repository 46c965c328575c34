"""The facts that decide how much a gateway can see of this machine, from /proc, /sys and probes."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.errors import FileRefused
from gateway.machine.topology import online_cpus
from gateway.perf.cgroup_hierarchy import perf_hierarchy
from gateway.perf.events import EVENTS, probe
from gateway.perf.tracefs import MOUNTS
from gateway.privileges.capabilities import CapabilitySets, own_sets
from gateway.process.untrusted_file import open_untrusted
from gateway.runtimes.python.programs import load_programs

_CLOCKSOURCE: Final = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
# PROC_PID_INIT_INO and PROC_USER_INIT_INO, include/linux/proc_ns.h
_FIRST_PID_NAMESPACE: Final = "pid:[4026531836]"
_FIRST_USER_NAMESPACE: Final = "user:[4026531837]"
_TIME_ERROR: Final = 5  # adjtimex(2)'s state of an unsynchronized clock
_REFUSALS: Final = 5
_TIMEX_BYTES: Final = 208  # sizeof(struct timex)


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Numbers are None if the kernel has no such file; errno values are 0 on success."""

    system: str
    release: str
    architecture: str
    uid: int
    cpus: int
    sets: CapabilitySets
    last_capability: int
    seccomp: int
    """0: none, 1: strict, 2: a filter (proc(5)). From outside, not the gateway's own: the check runs unconfined."""
    paranoid: int | None
    kptr_restrict: int | None
    mlock_kb: int | None
    max_sample_rate: int | None
    cpu_time_max_percent: int | None
    ptrace_scope: int | None
    lockdown: str
    """none, integrity or confidentiality; "" if the kernel has none."""
    open_files: int
    """The hard RLIMIT_NOFILE, to which the gateway raises the soft one; locked_bytes likewise."""
    locked_bytes: int
    machine_errno: int
    """errno of sampling everything on a CPU; own_errno: of sampling an own thread."""
    own_errno: int
    pmu_errno: int
    """errno of counting cycles."""
    kernel_addresses: bool
    map_files: bool
    """Whether /proc/PID/map_files of other processes can be opened."""
    tracefs_errno: int
    control_groups: str
    """Mount of the control groups that can be counted; "" none."""
    host_processes: bool
    """Whether /proc shows the machine's processes, not a container's."""
    first_user_namespace: bool
    clocksource: str
    clock_kept: bool
    no_source_frames: str = ""
    """Why source-level frames cannot be read; "" if they can."""


def read_node_facts() -> NodeFacts:
    """Read the facts of this machine and this process. Opens up to three perf events and closes them."""
    names = os.uname()
    machine = probe(EVENTS["cpu"], own=False)
    hierarchy = perf_hierarchy()
    return NodeFacts(
        system=names.sysname,
        release=names.release,
        architecture=names.machine,
        uid=os.geteuid(),
        # The CPUs on which captures open rings, wherever this process itself may run.
        cpus=len(online_cpus()),
        sets=own_sets(),
        last_capability=_sysctl("cap_last_cap") or 0,
        seccomp=_seccomp(),
        paranoid=_sysctl("perf_event_paranoid"),
        kptr_restrict=_sysctl("kptr_restrict"),
        mlock_kb=_sysctl("perf_event_mlock_kb"),
        max_sample_rate=_sysctl("perf_event_max_sample_rate"),
        cpu_time_max_percent=_sysctl("perf_cpu_time_max_percent"),
        ptrace_scope=_sysctl("yama/ptrace_scope"),
        lockdown=_lockdown(),
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        locked_bytes=resource.getrlimit(resource.RLIMIT_MEMLOCK)[1],
        machine_errno=machine,
        own_errno=probe(EVENTS["cpu"], own=True) if machine else 0,
        pmu_errno=probe(EVENTS["cycles"], own=bool(machine)),
        kernel_addresses=_kernel_addresses(),
        map_files=_map_files(),
        tracefs_errno=_tracefs(),
        control_groups=str(hierarchy.mount) if hierarchy else "",
        host_processes=_link("/proc/self/ns/pid") in {_FIRST_PID_NAMESPACE, ""},
        first_user_namespace=_link("/proc/self/ns/user") in {_FIRST_USER_NAMESPACE, ""},
        clocksource=_text(_CLOCKSOURCE),
        clock_kept=_clock_kept(),
        no_source_frames=_no_source_frames(),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _link(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""


def _sysctl(name: str) -> int | None:
    text = _text(Path("/proc/sys/kernel") / name)
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def _seccomp() -> int:
    found = re.search(r"^Seccomp:\s*(\d)$", _text(Path("/proc/self/status")), re.MULTILINE)
    return int(found[1]) if found else 0


def _lockdown() -> str:
    found = re.search(r"\[(\w+)\]", _text(Path("/sys/kernel/security/lockdown")))
    return found[1] if found else ""


def _kernel_addresses() -> bool:
    """Whether kallsyms shows an address other than 0; some kernels begin with symbols at 0, so several are read."""
    try:
        with Path("/proc/kallsyms").open() as lines:
            return any(
                int(line.split(maxsplit=1)[0], 16) for line, _ in zip(lines, range(5000), strict=False)
            )
    except (OSError, ValueError, IndexError):
        return False


def _map_files() -> bool:
    """Try one of the first processes of another user, or of any other if there are none."""
    own, others = os.geteuid(), []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            if (folder / "statm").read_bytes().startswith(b"0 "):
                continue  # a thread of the kernel
            others.append((folder.stat().st_uid == own, int(folder.name)))
        except OSError:
            continue
    refused = 0
    for _, pid in sorted(others):
        try:
            with os.scandir(f"/proc/{pid}/map_files") as entries:
                first = next(entries).path
            os.close(open_untrusted(first, pid=pid))
        except PermissionError:
            # Seen: a machine's first process that only root could inspect, whatever capabilities a process had.
            refused += 1
            if refused == _REFUSALS:
                break
        except (OSError, StopIteration, FileRefused):
            continue  # it ended, or its first mapping is a device, or of a file system that a program may serve
        else:
            return True
    return False


def _tracefs() -> int:
    """0, or the errno of reading tracefs; ENOENT: it is not mounted."""
    for mount in MOUNTS:
        try:
            os.scandir(mount / "events").close()
        except FileNotFoundError:
            continue
        except OSError as error:
            return error.errno or errno.EACCES
        return 0
    return errno.ENOENT


def _no_source_frames() -> str:
    """Load a program and free it again."""
    programs, why = load_programs(1)
    if programs is not None:
        programs.close()
    return why


def _clock_kept() -> bool:
    """Whether the clock is synchronized; True if unknown."""
    timex = ctypes.create_string_buffer(_TIMEX_BYTES)
    state: int = ctypes.CDLL(None).adjtimex(timex)
    return state != _TIME_ERROR
