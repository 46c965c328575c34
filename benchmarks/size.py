"""How large a benchmark runs: `SIZE=smallest`, `SIZE=full` (or `FULL=1`) in the environment, else the default size.

The smallest size tells only whether a benchmark works: it writes no results, and bars do not count.
"""

from __future__ import annotations

import os
import sys
from enum import Enum
from typing import Final, NoReturn

SKIPPED: Final = 77
"""Exit status of a benchmark that cannot run on this machine."""


class Size(Enum):
    """One of three."""

    SMALLEST = "smallest"
    DEFAULT = "default"
    FULL = "full"


def chosen() -> Size:
    """The size that the environment names. Ends the program if it names an unknown one."""
    if os.environ.get("FULL") == "1":
        return Size.FULL
    name = os.environ.get("SIZE") or Size.DEFAULT.value
    try:
        return Size(name)
    except ValueError:
        sys.exit(f"SIZE={name}: it is one of {', '.join(size.value for size in Size)}.")


def skip(reason: str) -> NoReturn:
    """End a benchmark that cannot run on this machine; the reason is the last line it prints."""
    print(f"skipped: {reason}", flush=True)
    sys.exit(SKIPPED)
