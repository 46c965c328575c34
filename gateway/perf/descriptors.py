"""The limit of open descriptors, which many events on many CPUs can reach."""

import resource
from typing import Final

_SPARE_DESCRIPTORS: Final = 256
"""Reserved for sockets and images."""


def raise_descriptor_limit() -> int:
    """Raise the soft limit to the hard one; returns the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def descriptors_for_events(captures: int) -> int:
    """Descriptors for the samplers and counters of each of `captures` concurrent captures."""
    return max(0, raise_descriptor_limit() - _SPARE_DESCRIPTORS) // captures
