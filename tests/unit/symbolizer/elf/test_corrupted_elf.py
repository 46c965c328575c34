"""Three hundred of the inputs of `make fuzz-elf`, in a process of its own: a crash of it is a failed test."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.slow
def test_corrupted_files_end_in_a_value_or_in_an_error_of_ours() -> None:
    command = [sys.executable, "-m", "tests.corrupted_elf", "--count", "300", "--builds", "30"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "300 inputs, 0 findings" in done.stdout
