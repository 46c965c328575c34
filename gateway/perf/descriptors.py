"""The limit on open descriptors, which many events on many CPUs come close to."""

import resource


def raise_descriptor_limit() -> int:
    """Raise the soft limit to the hard one; how many descriptors may be open then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
