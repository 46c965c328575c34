"""The end of `fleetprof up`: what was sampled before lands first, and how far that is can be read."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from rich.console import Console

LONGEST_S: Final = 60.0
"""How long the captures under way may take to land after sampling ended."""
SAID_EACH_S: Final = 10.0
"""Between two lines where output is not a terminal."""
_LOOKED_EACH_S: Final = 0.2


class Landing(Protocol):
    """What is asked of a `services.stack.Stack`."""

    def stop_sampling(self) -> None:
        """Let no new visit begin, and wait for those under way."""

    def tend(self) -> list[str]:
        """Start again what has ended."""

    def send_due(self) -> None:
        """Send again what waits to be landed."""


def land_last(
    stack: Landing,
    waiting: Callable[[], int | None],
    console: Console,
    *,
    now: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """End sampling; then wait until nothing waits to be landed, but not longer than LONGEST_S.

    `waiting` says how many captures do; None: it is not known just now.
    """
    with going_on(console, "Ending the visits that are under way …"):
        stack.stop_sampling()
    left: int | None = None
    with going_on(console, "Landing the last captures …") as tell:
        begun = said = now()
        while now() - begun < LONGEST_S:
            stack.tend()
            stack.send_due()
            left = waiting()
            if left == 0:
                break
            if console.is_terminal or now() - said >= SAID_EACH_S:
                said = now()
                tell(f"Landing the last captures: {_wait(left)} …")
            pause(_LOOKED_EACH_S)
    if left != 0:
        console.print(
            f"Not everything has landed within {LONGEST_S:.0f} s: {_wait(left)}. The next start goes on with that.",
            style="yellow",
            soft_wrap=True,
        )
    elif not console.is_terminal:
        console.print("The last captures have landed.")


@contextmanager
def going_on(console: Console, sentence: str) -> Iterator[Callable[[str], None]]:
    """Say what is being done: a line that goes away in a terminal, and stays elsewhere; what is yielded says another."""
    if console.is_terminal:
        with console.status(sentence) as status:
            yield status.update
    else:
        console.print(sentence)
        yield console.print


def _wait(left: int | None) -> str:
    if left is None:
        return "the API does not say how many wait"
    return f"{left:,} wait" if left != 1 else "1 waits"
