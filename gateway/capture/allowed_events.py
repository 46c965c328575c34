"""Allow-list of the events that callers may sample and count (DIGEST G7, G8)."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

GENERIC: Final = "generic"
"""Stands for every generic name: those without a colon. The default allow-list."""


def is_allowed(name: str, patterns: Sequence[str]) -> bool:
    """Whether an event's name (EventPlan.event) matches one of the patterns (fnmatch(3), case-sensitive).

    A tracepoint can reveal what programs do (the calls, not their arguments), and a raw event or one of any event
    source can disturb the machine's own measurements. So each is allowed explicitly.
    """
    return any(":" not in name if pattern == GENERIC else fnmatchcase(name, pattern) for pattern in patterns)
