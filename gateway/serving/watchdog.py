"""Ends a server whose capture takes far longer than its window: something that it read does not answer.

A file system may not, or a program that serves one, and no timeout reaches into a read. A fresh server takes the
next capture (doorman.py); until the read ends or its process may be killed, the kernel keeps what this one had open.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Opening the images of a busy machine and packing take a second or two.
GRACE_S: Final = 60.0
EXIT_STATUS: Final = 75
"""EX_TEMPFAIL of sysexits.h."""

_log: Final = logging.getLogger("gateway.watchdog")


@contextmanager
def watchdog(
    seconds: float, visit: str, *, grace_s: float = GRACE_S, end: Callable[[int], object] = os._exit
) -> Iterator[None]:
    """End the process by `end` if what is done within takes more than `seconds` and `grace_s` on top."""

    def give_up() -> None:
        _log.error(
            "server gives up: a capture does not end", extra={"fields": {"visit": visit, "window_s": seconds}}
        )
        end(EXIT_STATUS)

    timer = threading.Timer(seconds + grace_s, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
