"""GIVEN captures under way WHEN sampling ends THEN they are waited for, and whoever reads a file sees how far that is."""

import io
from collections.abc import Iterable, Iterator

import pytest
from rich.console import Console

from services.deployment.drain import LONGEST_S, ingest_last, showing_progress


class LocalDeployment:
    """Counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def stop_sampling(self) -> None:
        self.asked.append("stop")

    def tend(self) -> list[str]:
        self.asked.append("tend")
        return []

    def send_due(self) -> None:
        self.asked.append("send")


class Clock:
    """A second passes with each pause, however short."""

    def __init__(self) -> None:
        self.now = 100.0

    def pause(self, _: float) -> None:
        self.now += 1.0


def ingested(counts: Iterable[int | None], *, terminal: bool = False) -> tuple[list[str], LocalDeployment]:
    """The lines that are said while as many wait, one look after another."""
    console = Console(file=io.StringIO(), width=100, force_terminal=terminal)
    stack, clock, looks = LocalDeployment(), Clock(), iter(counts)
    ingest_last(stack, lambda: next(looks), console, now=lambda: clock.now, pause=clock.pause)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines(), stack


def _falling() -> Iterator[int]:
    yield from range(25, -1, -1)


def test_a_file_has_a_line_at_the_beginning_now_and_then_and_at_the_end() -> None:
    said, stack = ingested(_falling())
    assert said == [
        "Waiting for running visits …",
        "Ingesting the last captures …",
        "Ingesting the last captures: 15 waiting …",
        "Ingesting the last captures: 5 waiting …",
        "All captures are ingested.",
    ]
    assert stack.asked[:3] == ["stop", "tend", "send"]


def test_nothing_to_wait_for_is_soon_said() -> None:
    said, _ = ingested([0])
    assert said[-1] == "All captures are ingested."


@pytest.mark.parametrize(
    ("left", "told"),
    [(1, "1 waiting"), (1200, "1,200 waiting"), (None, "number unknown, the API does not respond")],
)
def test_what_does_not_ingest_in_time_is_said_with_what_becomes_of_it(left: int | None, told: str) -> None:
    said, stack = ingested([left] * 100)
    assert said[2] == f"Ingesting the last captures: {told} …"
    assert " ".join(said).endswith(f"Captures remain after 60 s: {told}. The next start ingests them.")
    assert stack.asked.count("send") == LONGEST_S


def test_an_api_that_does_not_answer_for_a_while_ends_nothing() -> None:
    said, _ = ingested([None, None, 3, 0])
    assert said[-1] == "All captures are ingested."


def test_in_a_terminal_one_line_changes_and_goes() -> None:
    said, _ = ingested([2, 1, 0], terminal=True)
    assert "are ingested" not in " ".join(said)


def test_elsewhere_every_sentence_stays() -> None:
    console = Console(file=io.StringIO())
    with showing_progress(console, "Stopping …") as tell:
        tell("Stopping: 2 are left …")
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "Stopping …\nStopping: 2 are left …\n"
