"""GIVEN code that gateways share WHEN it logs in a server-side process THEN its lines are as all others there, fields too."""

import subprocess
import sys

SAYING = """
import logging
from services.process_setup.logs import log_to_stderr, structured

log = structured("fleetprof.shared")
log_to_stderr()
log.warning("not %s", "reloaded", extra={"fields": {"why": "no such file", "unsaid": 2}})
log.info("reloaded", extra={"fields": {"certificate": "api.crt"}})
log.debug("looked")
try:
    raise OSError("gone")
except OSError:
    log.exception("failed")
"""


def test_what_shared_code_says_is_logged_with_its_fields():
    done = subprocess.run([sys.executable, "-c", SAYING], capture_output=True, text=True, check=True)
    lines = [line.partition(" ")[2] for line in done.stderr.splitlines()]
    assert lines[:2] == [
        'level=warning event="not reloaded" why="no such file" unsaid=2',
        "level=info event=reloaded certificate=api.crt",
    ]
    assert lines[2].startswith("level=error event=failed")
    assert "OSError: gone" in done.stderr
