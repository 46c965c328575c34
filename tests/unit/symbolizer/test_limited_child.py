"""GIVEN a child process WHEN it talks, fails or does not end THEN its parent has a bounded answer, in bounded time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from symbolizer.limited_child import ChildResult, run_child
from tests import echo_child


def test_what_a_child_says_is_its_answer() -> None:
    ended = run_child(echo_child, ["x" * 1000, "1000", "ends"], [], seconds=60)
    assert ended == ChildResult(0, b"x" * 1_000_000, "")


def test_of_a_complaint_the_last_line_is_the_reason() -> None:
    assert run_child(echo_child, ["x", "1", "fails"], [], seconds=60) == ChildResult(3, b"x", "last")


def test_a_child_that_does_not_end_is_ended_by_the_clock() -> None:
    assert run_child(echo_child, ["x", "1", "stays"], [], seconds=0.2) is None


def test_a_child_is_ended_when_its_answer_is_not_needed() -> None:
    looked: list[int] = []

    def stopping() -> bool:
        looked.append(len(looked))
        return len(looked) == 3

    assert run_child(echo_child, ["x", "1", "stays"], [], seconds=600, stopping=stopping) is None
    assert len(looked) == 3


def test_a_child_that_says_too_much_is_ended() -> None:
    ended = run_child(echo_child, ["x" * 100_000, "1000", "stays"], [], seconds=600)
    assert ended is not None
    assert ended.status < 0
    assert ended.output == b""
    assert "64 MiB" in ended.last_error


@pytest.mark.parametrize("written", [0, 4096])
def test_limits_hold_for_good(written: int) -> None:
    program = (
        "import json, resource as r, sys\n"
        "from symbolizer.limited_child import limit_this_process\n"
        f"limit_this_process(1 << 30, 7, written={written})\n"
        "print(json.dumps([r.getrlimit(getattr(r, f'RLIMIT_{n}')) for n in ('AS', 'DATA', 'CPU', 'CORE', 'FSIZE')]))\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    gib = [1 << 30, 1 << 30]
    assert json.loads(done.stdout) == [gib, gib, [7, 8], [0, 0], [written, written]]
