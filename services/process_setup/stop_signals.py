"""Being asked to end, by a person or by the system."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether a person or the system requested a stop: Ctrl-C, SIGTERM, or a terminal that was closed.

    A second Ctrl-C raises KeyboardInterrupt where `second_interrupt` allows it. Elsewhere it changes nothing:
    starting looks at the first one, and stopping must not be cut short, or servers would be left running.
    """

    def __init__(self) -> None:
        self.event = threading.Event()
        self._may_raise = False

    @contextmanager
    def handling_signals(self) -> Iterator[None]:
        """Take the signals while inside."""
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
        """Let a second Ctrl-C end what is inside."""
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
