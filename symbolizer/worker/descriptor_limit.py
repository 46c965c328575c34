"""How many files a process may have open: every image of a binary holds one."""

import resource
from typing import Final

MOST: Final = 1 << 16
"""The hard limit may be a thousand million, and programs that try every number before they start a child exist."""


def allow_descriptors() -> int:
    """Raise the soft limit of this process and its children, often 1024, to the hard one, at most to `MOST`; what it is then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return MOST if soft == resource.RLIM_INFINITY else soft
