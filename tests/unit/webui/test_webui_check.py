"""The web UI's own checks (types, unit tests) as one test of this suite."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NO_NODE = 3


@pytest.mark.slow
@pytest.mark.timeout(480)  # a first run installs the packages
def test_types_and_unit_tests_of_the_web_ui_pass() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "infra" / "build-web.py", "check"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == NO_NODE:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr


def test_the_lockfile_names_no_registry() -> None:
    # A host in the lockfile would make every later install depend on that host.
    lock = (ROOT / "webui" / "package-lock.json").read_text()
    assert '"resolved"' not in lock
    assert "://registry" not in lock
