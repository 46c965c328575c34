"""How many CPUs this process may keep busy: what a pool that is not told its size begins with."""

import math
import os
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def usable_cpus(root: Path = _ROOT, membership: Path = _MEMBERSHIP) -> int:
    """The CPUs it may run on, or fewer if its control groups have no time for so many; at least 1.

    Quotas are those of version 2 (`cpu.max` of the process's group and of those above), rounded up.
    """
    cpus = float(len(os.sched_getaffinity(0)))
    for folder in _groups(root, membership):
        try:
            quota, period = (folder / "cpu.max").read_text().split()
            cpus = min(cpus, int(quota) / int(period))
        except (OSError, ValueError, ZeroDivisionError):  # not there, or "max"
            continue
    return max(math.ceil(cpus), 1)


def _groups(root: Path, membership: Path) -> list[Path]:
    """The folders of the process's group and those above it; the root's alone where nobody knows."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return [root]
    for line in lines:
        if line.startswith("0::/"):
            inside = Path(line.removeprefix("0::/"))
            # A group outside this namespace is told by `..`: what lies above the root is not to be seen.
            if ".." not in inside.parts:
                return [root / inside, *(root / above for above in inside.parents)]
    return [root]
