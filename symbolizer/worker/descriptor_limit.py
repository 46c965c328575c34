"""Raises the limit of open files: every image of a binary holds one."""

import resource
from typing import Final

MOST: Final = 1 << 16
"""The hard limit may be a thousand million, and some programs try every number before they start a child."""


def allow_descriptors() -> int:
    """Raise this process's soft limit (often 1024) to the hard one, at most to `MOST`; the new limit.

    Children inherit it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return MOST if soft == resource.RLIM_INFINITY else soft
