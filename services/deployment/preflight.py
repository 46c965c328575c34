"""Requirements of a machine, checked before anything starts; one plain sentence for each that is not met."""

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

OLDEST_KERNEL = (5, 8)
"""CAP_PERFMON exists since 5.8; older kernels are untested."""

_CAP_PERFMON = 38
_CAP_SYS_ADMIN = 21


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Input of the decision."""

    system: str
    """`uname -s`."""
    architecture: str
    """`uname -m`."""
    kernel: tuple[int, int]
    perf_event_paranoid: int | None
    """None if the kernel has no perf events."""
    may_see_everything: bool
    """Whether CAP_PERFMON or CAP_SYS_ADMIN is effective."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether sampling can work here, and how much of the machine it covers."""

    problem: str | None
    """Sentence naming the missing requirement and the remedy; None if all are met."""
    whole_machine: bool
    """False: only the user's own processes, without kernel frames."""


def judge(facts: MachineFacts) -> Verdict:
    """Decide from the facts alone."""
    if facts.system != "Linux":
        return Verdict(f"fleetprof needs Linux's perf events; this system is {facts.system}.", False)
    if facts.architecture != "x86_64":
        return Verdict(f"The gateway supports only x86-64; this machine is {facts.architecture}.", False)
    if facts.kernel < OLDEST_KERNEL:
        has, needs = (".".join(map(str, v)) for v in (facts.kernel, OLDEST_KERNEL))
        return Verdict(f"fleetprof needs Linux {needs} or newer; this is {has}.", False)
    if facts.perf_event_paranoid is None:
        return Verdict("This kernel has no perf events (CONFIG_PERF_EVENTS), so it cannot be sampled.", False)
    if facts.may_see_everything or facts.perf_event_paranoid <= 0:  # every user may open CPU-wide events
        return Verdict(None, True)
    if facts.perf_event_paranoid > 2:
        return Verdict(
            f"kernel.perf_event_paranoid is {facts.perf_event_paranoid}, which forbids users to sample even their "
            "own processes. To allow it: sudo sysctl kernel.perf_event_paranoid=2",
            False,
        )
    return Verdict(None, False)


def read_facts() -> MachineFacts:
    """Facts of this machine and this process."""
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    try:
        paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    except (OSError, ValueError):
        paranoid = None
    return MachineFacts(
        system=platform.system(),
        architecture=platform.machine(),
        kernel=(int(release[1]), int(release[2])) if release else (0, 0),
        perf_event_paranoid=paranoid,
        may_see_everything=bool(_effective_capabilities() & (1 << _CAP_PERFMON | 1 << _CAP_SYS_ADMIN)),
    )


def _effective_capabilities() -> int:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return -1 if os.geteuid() == 0 else 0
    found = re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.MULTILINE)
    return int(found[1], 16) if found else 0
