"""Limits the memory of a worker's process: beyond the limit an allocation fails, and with it one capture.

Without a limit the kernel kills any process of the machine, and the capture that caused it is tried again.
"""

import resource


def limit_memory(size: int) -> None:
    """Let allocations of this process fail once it has `size` bytes of its own; 0: never.

    Uses RLIMIT_DATA instead of RLIMIT_AS, which would include mapped symbol files. Only the soft limit is set: children
    have limits of their own.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if size and (hard == resource.RLIM_INFINITY or size < hard):
        resource.setrlimit(resource.RLIMIT_DATA, (size, hard))
