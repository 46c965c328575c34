"""GIVEN output WHEN it is written to a file THEN the file is whole, or what was there before."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.command_line import output_file
from services.errors import CannotWrite


def broken():
    yield b"half"
    raise RuntimeError("no more")


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    sizes: list[int] = []

    def parts():
        yield b"one,"
        assert not target.exists()
        yield b"two"

    assert output_file.write(parts(), target, sizes.append) == 7
    assert target.read_bytes() == b"one,two"
    assert sizes == [4, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    mask = os.umask(0)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~mask


def test_what_was_there_stays_if_writing_fails(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="no more"):
        output_file.write(broken(), target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="No such file"):
        output_file.write([b""], tmp_path / "none" / "out")


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    assert output_file.write([b"x"], Path(os.devnull)) == 1
    assert Path(os.devnull).is_char_device()


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    program = (
        "from pathlib import Path; from services.command_line import output_file\n"
        "output_file.write((b'x' * 65536 for _ in range(100)), Path('-'))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        assert run.stdout.read(10) == b"x" * 10
        run.stdout.close()
        assert run.stderr is not None
        assert run.stderr.read() == b""
        assert run.wait(60) == 0
