"""The capabilities a gateway may hold, the purpose of each, and those of a process (capabilities(7))."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Capability:
    """One bit of the kernel's capability sets."""

    name: str
    number: int
    purpose: str
    """The gateway's use of it."""
    costs: str
    """What captures lack without it."""


PERFMON: Final = Capability(
    "CAP_PERFMON",
    38,
    "samples whole CPUs, the kernel included, and counts events",
    "all processes of other users, and all counters; with kernel.perf_event_paranoid 3 and above, everything",
)
SYS_PTRACE: Final = Capability(
    "CAP_SYS_PTRACE",
    19,
    "reads memory maps and identities of other users' processes",
    "names of other users' programs and stacks through their deleted binaries; before Linux 6.15, "
    "which accepts CAP_PERFMON for maps, all of their stacks",
)
CHECKPOINT_RESTORE: Final = Capability(
    "CAP_CHECKPOINT_RESTORE",
    40,
    "opens binaries by the mapping that a process has of them (/proc/PID/map_files)",
    "stacks through binaries that were deleted or replaced, and in chroots, where the path leads to another file",
)
SYSLOG: Final = Capability(
    "CAP_SYSLOG",
    34,
    "reads the kernel's addresses (/proc/kallsyms)",
    "addresses and names of kernel code: the whole kernel is one unnamed frame",
)
DAC_READ_SEARCH: Final = Capability(
    "CAP_DAC_READ_SEARCH",
    2,
    "reads files that their mode hides: /proc/PID/map_files, binaries, perf maps, tracefs",
    "stacks through binaries that only their owner can read and through deleted binaries "
    "(map_files), names of other users' JIT code, tracepoints",
)
IPC_LOCK: Final = Capability(
    "CAP_IPC_LOCK",
    14,
    "locks rings of 1 MiB and more for each CPU",
    "samples of high rates on busy CPUs: rings have only 512 KiB if kernel.perf_event_mlock_kb and "
    "RLIMIT_MEMLOCK permit no more",
)
BPF: Final = Capability(
    "CAP_BPF",
    39,
    "loads the programs that read the frames of interpreters, and registers processes with them",
    "source-level frames of Python programs: they show the interpreter's C functions",
)
NEEDED: Final = (PERFMON, SYS_PTRACE, CHECKPOINT_RESTORE, SYSLOG, DAC_READ_SEARCH, IPC_LOCK, BPF)
"""The capabilities that the gateway keeps if it is started with them."""

SYS_NICE: Final = Capability(
    "CAP_SYS_NICE",
    23,
    "reads rings before other programs run, where RLIMIT_NICE does not allow it",
    "samples on a machine with far more runnable threads than CPUs; they are counted as lost",
)
SYS_ADMIN: Final = Capability(
    "CAP_SYS_ADMIN",
    21,
    "replaces CAP_PERFMON and CAP_CHECKPOINT_RESTORE before Linux 5.9, and CAP_PERFMON on kernels of "
    "Debian and Ubuntu while kernel.perf_event_paranoid is 3 or more",
    "everything that the replaced capabilities permit",
)
# Debian's and Ubuntu's kernels have levels above Linux's 2 that only CAP_SYS_ADMIN passes: seen on 6.12.107+deb13,
# where CAP_PERFMON gets EACCES.
HIGHEST_PARANOID_OF_LINUX: Final = 2
SETPCAP: Final = 8

# CAP_CHECKPOINT_RESTORE came with Linux 5.9, the last of them; CAP_PERFMON with 5.8.
_FIRST_WHOLE_LAST_CAP: Final = CHECKPOINT_RESTORE.number


@dataclass(frozen=True, slots=True)
class CapabilitySets:
    """A process's capability sets, as bit masks."""

    permitted: int
    effective: int
    bounding: int
    inheritable: int = 0
    ambient: int = 0

    def has(self, capability: Capability) -> bool:
        """Whether it is effective."""
        return bool(self.effective >> capability.number & 1)


def own_sets(status: Path = Path("/proc/self/status")) -> CapabilitySets:
    """The sets of this process; raises OSError without /proc."""
    found = dict(re.findall(r"^(Cap\w+):\s*([0-9a-f]+)$", status.read_text(), re.MULTILINE))
    names = ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")
    return CapabilitySets(*(int(found.get(name, "0"), 16) for name in names))


def last_capability(file: Path = Path("/proc/sys/kernel/cap_last_cap")) -> int:
    """The highest capability number of this kernel."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return _FIRST_WHOLE_LAST_CAP


def paranoid_level(file: Path = Path("/proc/sys/kernel/perf_event_paranoid")) -> int:
    """kernel.perf_event_paranoid; Linux's default if unreadable."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return HIGHEST_PARANOID_OF_LINUX


def capabilities_to_keep(
    *, last: int, may_raise_priority: bool, paranoid: int = HIGHEST_PARANOID_OF_LINUX
) -> tuple[Capability, ...]:
    """The capabilities that a gateway on this kernel keeps if it has them."""
    keep = [capability for capability in NEEDED if capability.number <= last]
    if last < _FIRST_WHOLE_LAST_CAP or paranoid > HIGHEST_PARANOID_OF_LINUX:
        keep.append(SYS_ADMIN)
    if not may_raise_priority:
        keep.append(SYS_NICE)
    return tuple(keep)
