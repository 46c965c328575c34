"""Size of a benchmark: `SIZE=smallest`, `SIZE=full` (or `FULL=1`) in the environment, else the default size.

The smallest size only checks that a benchmark works: it writes no results and ignores bars.
"""

from __future__ import annotations

import os
import sys
from enum import Enum
from typing import Final, NoReturn

SKIPPED: Final = 77
"""Exit status of a benchmark that cannot run on this machine."""


class Size(Enum):
    """Size of a benchmark."""

    SMALLEST = "smallest"
    DEFAULT = "default"
    FULL = "full"


def chosen() -> Size:
    """The size set in the environment. Ends the program if it is unknown."""
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
