"""Ends a server whose capture takes far longer than its window, because a read does not return.

A file system, or a program that serves one, may not answer, and no timeout interrupts such a read. A fresh server
takes the next capture (socket_activation.py). The kernel keeps this one's open files until the read ends or the
process can be killed.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Opening the images of a busy machine and packing take one or two seconds.
GRACE_S: Final = 60.0
EXIT_STATUS: Final = 75
"""EX_TEMPFAIL of sysexits.h."""

_log: Final = logging.getLogger("gateway.watchdog")


@contextmanager
def watchdog(
    seconds: float, visit: str, *, grace_s: float = GRACE_S, end: Callable[[int], object] = os._exit
) -> Iterator[None]:
    """End the process by `end` if the body takes longer than `seconds` + `grace_s`."""

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
