"""How fast each logical CPU runs, and what bounds it (Linux: admin-guide/pm/cpufreq).

A frequency is reported only where something measures or sets it. Without cpufreq, /proc/cpuinfo prints the
frequency that the kernel found at boot, whatever the clock does now, unless the CPU has APERF and MPERF.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gateway.machine.kernel_files import names_in, read_line, read_number, read_text
from gateway.machine.topology import PROC, SYS, parse_cpu_list

if TYPE_CHECKING:
    from pathlib import Path

_POLICY: Final = re.compile(r"policy\d+$")
_MHZ: Final = re.compile(
    r"^(?:processor\s*:\s*(\d{1,6})|cpu MHz\s*:\s*(\d{1,6}(?:\.\d{1,6})?))\s*$", re.MULTILINE
)
# Since Linux 6.15, by hardware counters over the last tick; scaling_cur_freq is that too on x86, and elsewhere
# what the governor asked for last.
_CURRENT: Final = ("cpuinfo_avg_freq", "scaling_cur_freq")
_FASTEST_KHZ: Final = 100_000_000
_MAX_CPUINFO_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the governor keeps to; MHz, 0: not known."""

    governor: str
    min_mhz: float
    max_mhz: float


@dataclass(frozen=True, slots=True)
class Policy:
    """CPUs that cpufreq sets together. `folder` has the files, `current` is the one with the frequency now; "": none."""

    folder: str
    cpus: tuple[int, ...]
    current: str

    def bounds(self) -> Bounds:
        """The governor and its limits now."""
        return Bounds(
            read_line(f"{self.folder}/scaling_governor"),
            megahertz(f"{self.folder}/scaling_min_freq"),
            megahertz(f"{self.folder}/scaling_max_freq"),
        )


@dataclass(frozen=True, slots=True)
class Frequencies:
    """What tells frequencies on this machine, found once."""

    policies: tuple[Policy, ...] = ()
    cpuinfo: str = ""
    """/proc/cpuinfo, where it is measured and cpufreq says nothing; "": do not read it."""
    driver: str = ""
    hardware: tuple[float, float] = field(default=(0.0, 0.0))
    """Lowest and highest that the hardware can run at, MHz; 0: not known."""

    def read(self) -> dict[int, float]:
        """MHz of each CPU now; CPUs of which nothing is known are not there."""
        found: dict[int, float] = {}
        for policy in self.policies:
            if policy.current and (now := megahertz(policy.current)):
                found |= dict.fromkeys(policy.cpus, now)
        return parse_cpuinfo(read_text(self.cpuinfo, _MAX_CPUINFO_BYTES)) if self.cpuinfo else found

    def bounds(self) -> dict[int, Bounds]:
        """The governor and limits of each CPU that has a policy."""
        found: dict[int, Bounds] = {}
        for policy in self.policies:
            found |= dict.fromkeys(policy.cpus, policy.bounds())
        return found


def find_frequencies(flags: str, proc: Path = PROC, sys: Path = SYS) -> Frequencies:
    """Look what there is; `flags` are the CPU's by /proc/cpuinfo."""
    root = f"{sys}/devices/system/cpu/cpufreq"
    policies = []
    for name in names_in(root):
        folder = f"{root}/{name}"
        # related_cpus has those offline too.
        cpus = tuple(parse_cpu_list(read_text(f"{folder}/affected_cpus"))) if _POLICY.match(name) else ()
        if cpus:
            files = set(names_in(folder))
            current = next((file for file in _CURRENT if file in files), "")
            policies.append(Policy(folder, cpus, f"{folder}/{current}" if current else ""))
    limits = [
        (megahertz(f"{policy.folder}/cpuinfo_min_freq"), megahertz(f"{policy.folder}/cpuinfo_max_freq"))
        for policy in policies
    ]
    return Frequencies(
        tuple(policies),
        f"{proc}/cpuinfo" if not policies and "aperfmperf" in flags.split() else "",
        read_line(f"{policies[0].folder}/scaling_driver") if policies else "",
        (
            min((low for low, _ in limits if low), default=0.0),
            max((high for _, high in limits), default=0.0),
        ),
    )


def parse_cpuinfo(text: str) -> dict[int, float]:
    """MHz of each processor of /proc/cpuinfo that has a figure above 0."""
    found: dict[int, float] = {}
    cpu = -1
    for number, mhz in _MHZ.findall(text):
        if number:
            cpu = int(number)
        elif cpu >= 0 and float(mhz) > 0:
            found[cpu] = float(mhz)
    return found


def megahertz(path: str) -> float:
    """MHz from a file of cpufreq, which holds kHz; 0: not known."""
    kilohertz = read_number(path)
    return kilohertz / 1000 if 0 < kilohertz < _FASTEST_KHZ else 0.0
