"""GIVEN a private umask WHEN symbol files are written THEN another account's symbolizer can read them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulation.binaries import SymbolFolder, kernel


@pytest.fixture
def private_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("private_umask")
def test_symbol_files_are_for_everyone(tmp_path: Path) -> None:
    symbols = tmp_path / "symbols"
    symbols.mkdir()
    SymbolFolder(symbols).add([kernel(0, 7), kernel(1, 7)])
    files = [path for path in symbols.rglob("*") if path.is_file()]
    assert len(files) == 2
    assert {file.stat().st_mode & 0o777 for file in files} == {0o644}
    assert {path.stat().st_mode & 0o777 for path in symbols.rglob("*") if path.is_dir()} == {0o755}


def test_files_that_are_there_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "symbols").mkdir()
    SymbolFolder(tmp_path / "symbols").add([kernel(0, 7)])
    [file] = [path for path in tmp_path.rglob("*") if path.is_file()]
    before = file.stat()
    SymbolFolder(tmp_path / "symbols").add([kernel(0, 7)])
    assert file.stat().st_ino == before.st_ino
