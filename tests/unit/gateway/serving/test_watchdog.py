"""GIVEN a capture WHEN it does not end THEN its process does, and only then."""

import subprocess
import sys
import threading

from gateway.serving.watchdog import EXIT_STATUS, watchdog

STUCK = """
import os, logging
from gateway.serving.watchdog import watchdog
logging.basicConfig()
waits, _ = os.pipe()
with watchdog(0.0, "a visit", grace_s=0.0):
    os.read(waits, 1)
"""


def test_a_process_that_waits_for_an_answer_ends():
    ended = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, check=False)
    assert ended.returncode == EXIT_STATUS
    assert "a capture does not end" in ended.stderr


def test_a_capture_in_time_ends_nothing():
    statuses: list[int] = []
    before = set(threading.enumerate())
    with watchdog(0.0, "a visit", grace_s=3600, end=statuses.append):
        (watching,) = set(threading.enumerate()) - before
    watching.join()
    assert not statuses
