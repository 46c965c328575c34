"""GIVEN a size in the environment WHEN a benchmark ends THEN the smallest writes nothing and no bar counts."""

from pathlib import Path

import pytest

from benchmarks import report as reports
from benchmarks.report import Report, at_most
from benchmarks.size import SKIPPED, Size, chosen, skip


@pytest.mark.parametrize(
    ("environment", "size"),
    [
        ({}, Size.DEFAULT),
        ({"SIZE": ""}, Size.DEFAULT),
        ({"SIZE": "smallest"}, Size.SMALLEST),
        ({"SIZE": "full"}, Size.FULL),
        ({"FULL": "1"}, Size.FULL),
        ({"FULL": "0"}, Size.DEFAULT),
    ],
)
def test_the_environment_chooses(
    environment: dict[str, str], size: Size, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SIZE", "FULL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert chosen() is size


def test_an_unknown_size_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FULL", raising=False)
    monkeypatch.setenv("SIZE", "tiny")
    with pytest.raises(SystemExit, match="it is one of smallest, default, full"):
        chosen()


@pytest.mark.parametrize(("size", "status", "files"), [("smallest", 0, 0), ("default", 1, 1)])
def test_the_smallest_size_writes_nothing_and_misses_no_bar(
    size: str, status: int, files: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("FULL", raising=False)
    monkeypatch.setenv("SIZE", size)
    monkeypatch.setattr(reports, "RESULTS", tmp_path)
    made = Report("made", peer="")
    made.add("slow", 3.0, at_most(2))
    said = made.written()
    assert made.status == status
    assert len(list(tmp_path.iterdir())) == files
    assert ("not written" in said) == (files == 0)


def test_a_skip_says_its_reason_last(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=str(SKIPPED)):
        skip("perf is not installed")
    assert capsys.readouterr().out == "skipped: perf is not installed\n"
