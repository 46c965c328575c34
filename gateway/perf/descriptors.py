"""The limit on open descriptors, which many events on many CPUs come close to."""

import resource
from typing import Final

_SPARE_DESCRIPTORS: Final = 256
"""For sockets and images."""


def raise_descriptor_limit() -> int:
    """Raise the soft limit to the hard one; how many descriptors may be open then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def descriptors_for_events(captures: int) -> int:
    """How many descriptors one of so many captures at once may have for its samplers and counters."""
    return max(0, raise_descriptor_limit() - _SPARE_DESCRIPTORS) // captures
