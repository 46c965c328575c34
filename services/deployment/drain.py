"""End of `fleetprof up`: ingest the remaining captures and show the progress."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from rich.console import Console

LONGEST_S: Final = 60.0
"""Longest wait for the remaining captures after sampling ended."""
REPORT_INTERVAL_S: Final = 10.0
"""Seconds between two lines of output without a terminal."""
_POLL_S: Final = 0.2


class Ingestion(Protocol):
    """The part of `services.deployment.all_in_one.LocalDeployment` used here."""

    def stop_sampling(self) -> None:
        """Begin no new visit, and wait for running visits."""

    def tend(self) -> list[str]:
        """Restart parts that ended."""

    def send_due(self) -> None:
        """Send waiting captures to ingestion again."""


def ingest_last(
    deployment: Ingestion,
    waiting: Callable[[], int | None],
    console: Console,
    *,
    now: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """End sampling, then wait until no capture is left to ingest, at most LONGEST_S.

    `waiting` returns the number of waiting captures; None: currently unknown.
    """
    with showing_progress(console, "Waiting for running visits …"):
        deployment.stop_sampling()
    left: int | None = None
    with showing_progress(console, "Ingesting the last captures …") as show:
        begun = last_report = now()
        while now() - begun < LONGEST_S:
            deployment.tend()
            deployment.send_due()
            left = waiting()
            if left == 0:
                break
            if console.is_terminal or now() - last_report >= REPORT_INTERVAL_S:
                last_report = now()
                show(f"Ingesting the last captures: {_wait(left)} …")
            pause(_POLL_S)
    if left != 0:
        console.print(
            f"Captures remain after {LONGEST_S:.0f} s: {_wait(left)}. The next start ingests them.",
            style="yellow",
            soft_wrap=True,
        )
    elif not console.is_terminal:
        console.print("All captures are ingested.")


@contextmanager
def showing_progress(console: Console, sentence: str) -> Iterator[Callable[[str], None]]:
    """Show the current step: transient in a terminal, permanent elsewhere. The yielded function replaces the text."""
    if console.is_terminal:
        with console.status(sentence) as status:
            yield status.update
    else:
        console.print(sentence)
        yield console.print


def _wait(left: int | None) -> str:
    if left is None:
        return "number unknown, the API does not respond"
    return f"{left:,} waiting"
