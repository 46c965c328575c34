"""Which events an operator lets callers sample and count (DIGEST G7, G8)."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

GENERIC: Final = "generic"
"""Stands for every generic name: those have no colon. They are all that is allowed unless the operator says more."""


def is_allowed(name: str, patterns: Sequence[str]) -> bool:
    """Whether an event's name (EventPlan.event) matches one of the patterns of fnmatch(3), case and all.

    A tracepoint may show what programs do (arguments are not recorded, but which calls are made is), and a raw event or one
    of any event source may disturb what the machine measures itself; so they are allowed one by one.
    """
    return any(":" not in name if pattern == GENERIC else fnmatchcase(name, pattern) for pattern in patterns)
