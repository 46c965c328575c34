"""GIVEN FLEETPROF_EXAMPLES WHEN a test of hypothesis runs THEN it tries so many times as many examples."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = """
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

tried = {}


@settings(max_examples=5, database=None)
@given(st.integers())
@pytest.mark.parametrize("name", ["one", "two"])
@pytest.mark.timeout(7)
def test_some(request, name, number):
    tried[name] = tried.get(name, 0) + 1
    assert request.node.get_closest_marker("timeout").args == (TIMEOUT,)


def test_how_many():
    assert tried == {"one": TIMES, "two": TIMES}
"""


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("value", "times"), [(None, 1), ("3", 3)])
def test_examples_and_time_are_multiplied(tmp_path: Path, value: str | None, times: int):
    (tmp_path / "conftest.py").write_text(
        "from tests.conftest import pytest_collection_modifyitems  # noqa: F401\n"
    )
    written = TEST.replace("TIMEOUT", str(7 * times)).replace("TIMES", str(5 * times))
    (tmp_path / "test_written.py").write_text(written)
    environment = {name: text for name, text in os.environ.items() if name != "FLEETPROF_EXAMPLES"}
    environment |= {"PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}"} | (
        {"FLEETPROF_EXAMPLES": value} if value else {}
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path],
        capture_output=True, text=True, env=environment, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert "3 passed" in ran.stdout
