"""GIVEN benchmarks that work, fail, or cannot run WHEN all are tried THEN each is told apart, and only failures count."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import smoke_run
from benchmarks.smoke_run import NAMES, Tried, attempt

PROGRAMS = {
    "works": "import os; assert os.environ['SIZE'] == 'smallest' and 'FULL' not in os.environ",
    "skips": "from benchmarks.size import skip; skip('no perf')",
    "fails": "raise SystemExit('it broke')",
}


@pytest.mark.parametrize(
    ("name", "line", "failed"),
    [("works", "works", False), ("skips", "skipped: no perf", False), ("fails", "failed with 1", True)],
)
def test_what_became_of_each_is_said(
    name: str, line: str, failed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"bench_{name}.py").write_text(PROGRAMS[name])
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path.cwd()}")
    monkeypatch.setenv("FULL", "1")
    tried = attempt(name, f"bench_{name}")
    assert tried.line.endswith(line)
    assert tried.failed == failed


def test_one_failure_fails_all_and_its_output_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = {"lake": 0, "store": 1, "unwind": 77}
    monkeypatch.setattr(smoke_run, "attempt", lambda name: Tried(name, 1.0, outcomes[name], f"{name} said"))
    assert smoke_run.main(["lake", "unwind"]) == 0
    assert smoke_run.main(["lake", "store"]) == 1
    assert "store printed:\nstore said" in capsys.readouterr().out


def test_every_benchmark_is_among_them() -> None:
    folder = Path(smoke_run.__file__).parent
    found = {path.parent.name for path in folder.glob("*/__main__.py")}
    found |= {
        path.stem for path in folder.glob("*.py") if "Report(" in path.read_text() and path.stem != "report"
    }
    assert set(NAMES) == found - {"scaling"}, "scaling writes a page of what others measured"


def test_the_command_is_a_module() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "benchmarks.smoke_run", "--help"], capture_output=True, text=True, check=True
    )
    assert "make bench-smallest" in said.stdout
