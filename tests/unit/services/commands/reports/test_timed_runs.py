"""GIVEN a file of times at several frequencies WHEN it is read THEN a heading is skipped, and what is wrong is told with its line."""

from pathlib import Path

import pytest

from services.commands.reports.timed_runs import read_runs
from storage.errors import BadSelection
from storage.query.models.frequency_times import Timed


def test_lines_are_runs(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("mhz,seconds,memory\n1200,18.3,2400\n\n2400, 10.1, 3200\n")
    assert read_runs(path) == (Timed(1200, 18.3, 2400), Timed(2400, 10.1, 3200))
    path.write_text("1200,18.3\n")
    assert read_runs(path) == (Timed(1200, 18.3),)
    path.write_text("")
    assert read_runs(path) == ()


@pytest.mark.parametrize("line", ["fast,1", "1200", "1200,1,2,3", "1200;1"])
def test_a_line_that_is_none_is_told(tmp_path: Path, line: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(f"1200,18.3\n{line}\n")
    with pytest.raises(BadSelection, match="Line 2: invalid frequency and time"):
        read_runs(path)


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("1200,18.3s", "column 2 is '18.3s'"),
        ("1200MHz,18.3", "column 1 is '1200MHz'"),
        ("fast,18.3", "column 1 is 'fast'"),
        ("1200,18.3,-.5x", "column 3 is '-.5x'"),
        ("1200;18.3", "it has 1 columns"),
    ],
)
def test_a_first_line_with_a_number_is_no_heading(tmp_path: Path, line: str, where: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(f"{line}\n2400,10.1\n")
    with pytest.raises(BadSelection, match=f"Line 1: invalid frequency and time .*; {where}"):
        read_runs(path)


@pytest.mark.parametrize("heading", ["", "mhz,seconds\n"])
def test_a_mark_of_the_byte_order_is_no_field(tmp_path: Path, heading: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(f"{heading}1200,18.3\n2400,10.1\n", encoding="utf-8-sig")
    assert read_runs(path) == (Timed(1200, 18.3), Timed(2400, 10.1))


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadSelection, match="Cannot read"):
        read_runs(tmp_path / "none.csv")
    path = tmp_path / "large.csv"
    path.write_bytes(b"1,2\n" * (1 << 19))
    with pytest.raises(BadSelection, match="larger than 1 MiB"):
        read_runs(path)
