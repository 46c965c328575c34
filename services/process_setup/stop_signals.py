"""Requests to stop, by a user or by the system."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether a user or the system requested a stop: Ctrl-C, SIGTERM, or a closed terminal.

    A second Ctrl-C raises KeyboardInterrupt where `second_interrupt` allows it and has no effect elsewhere: starting
    polls the first request, and stopping must not be interrupted, or servers would keep running.
    """

    def __init__(self) -> None:
        self.event = threading.Event()
        self._may_raise = False

    @contextmanager
    def handling_signals(self) -> Iterator[None]:
        """Handle the signals inside the block."""
        before = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def second_interrupt(self) -> Iterator[None]:
        """Let a second Ctrl-C end the block."""
        self._may_raise = True
        try:
            yield
        finally:
            self._may_raise = False

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.event.is_set() and number == signal.SIGINT and self._may_raise:
            self._may_raise = False
            raise KeyboardInterrupt
        self.event.set()
