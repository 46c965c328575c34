"""The frequency of each logical CPU and its limits (Linux: admin-guide/pm/cpufreq).

A frequency is reported only if something measures or sets it. Without cpufreq, /proc/cpuinfo shows the frequency at
boot, whatever the clock does now, unless the CPU has APERF and MPERF.
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
# Since Linux 6.15: by hardware counters over the last tick. scaling_cur_freq is the same on x86; elsewhere it is the
# governor's last request.
_CURRENT: Final = ("cpuinfo_avg_freq", "scaling_cur_freq")
_FASTEST_KHZ: Final = 100_000_000
_MAX_CPUINFO_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class Bounds:
    """The governor's limits in MHz, 0: unknown."""

    governor: str
    min_mhz: float
    max_mhz: float


@dataclass(frozen=True, slots=True)
class Policy:
    """CPUs with a common cpufreq policy. `current` is the file with the current frequency in `folder`; "": none."""

    folder: str
    cpus: tuple[int, ...]
    current: str

    def bounds(self) -> Bounds:
        """The current governor and its limits."""
        return Bounds(
            read_line(f"{self.folder}/scaling_governor"),
            megahertz(f"{self.folder}/scaling_min_freq"),
            megahertz(f"{self.folder}/scaling_max_freq"),
        )


@dataclass(frozen=True, slots=True)
class Frequencies:
    """The machine's sources of frequencies, found once."""

    policies: tuple[Policy, ...] = ()
    cpuinfo: str = ""
    """/proc/cpuinfo, if it is measured and cpufreq has no frequency; "": do not read it."""
    driver: str = ""
    hardware: tuple[float, float] = field(default=(0.0, 0.0))
    """The hardware's lowest and highest frequency in MHz; 0: unknown."""

    def read(self) -> dict[int, float]:
        """Current MHz of each CPU; CPUs with unknown frequency are omitted."""
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
    """Find the sources; `flags` are the CPU's in /proc/cpuinfo."""
    root = f"{sys}/devices/system/cpu/cpufreq"
    policies = []
    for name in names_in(root):
        folder = f"{root}/{name}"
        # related_cpus includes offline CPUs.
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
    """MHz of each processor in /proc/cpuinfo with a value above 0."""
    found: dict[int, float] = {}
    cpu = -1
    for number, mhz in _MHZ.findall(text):
        if number:
            cpu = int(number)
        elif cpu >= 0 and float(mhz) > 0:
            found[cpu] = float(mhz)
    return found


def megahertz(path: str) -> float:
    """MHz from a cpufreq file, which holds kHz; 0: unknown."""
    kilohertz = read_number(path)
    return kilohertz / 1000 if 0 < kilohertz < _FASTEST_KHZ else 0.0
