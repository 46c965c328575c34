"""How much memory a process of a worker may take: beyond that an allocation fails, and with it one capture.

Without a limit the kernel ends whatever process of the machine it likes, and the capture that was the reason is tried again.
"""

import resource


def limit_memory(size: int) -> None:
    """Let allocations of this process fail once it has `size` bytes of its own; 0: never.

    RLIMIT_DATA and not RLIMIT_AS: mapped symbol files are not its own. Only the soft limit: children have limits of their own.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if size and (hard == resource.RLIM_INFINITY or size < hard):
        resource.setrlimit(resource.RLIMIT_DATA, (size, hard))
