"""Number of CPUs that this process may keep busy, the default size of a pool."""

import math
import os
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def usable_cpus(root: Path = _ROOT, membership: Path = _MEMBERSHIP) -> int:
    """The CPUs that the process may run on, or fewer if the quota of a control group is smaller; at least 1.

    Quotas are those of version 2 (`cpu.max` of the process's group and its ancestors), rounded up.
    """
    cpus = float(len(os.sched_getaffinity(0)))
    for folder in _groups(root, membership):
        try:
            quota, period = (folder / "cpu.max").read_text().split()
            cpus = min(cpus, int(quota) / int(period))
        except (OSError, ValueError, ZeroDivisionError):  # absent, or "max"
            continue
    return max(math.ceil(cpus), 1)


def _groups(root: Path, membership: Path) -> list[Path]:
    """Folders of the process's group and its ancestors; only the root's if the group is unknown."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return [root]
    for line in lines:
        if line.startswith("0::/"):
            inside = Path(line.removeprefix("0::/"))
            # `..` marks a group outside this namespace: what lies above the root is invisible.
            if ".." not in inside.parts:
                return [root / inside, *(root / above for above in inside.parents)]
    return [root]
