"""GIVEN a kernel's table WHEN a person brings it THEN it is told from those with other modules, or refused."""

from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import Engine

from services.symbols import symbol_service as module
from services.symbols.errors import UnusableFile
from services.symbols.symbol_service import SymbolService
from storage.archive import Archive
from storage.symbols.candidates import Candidate
from symbolizer.inspection.inspection import inspect
from symbolizer.kernel.kallsyms import LoadedModule, kernel_of_table, table_of_boot

KERNEL = b"ffffffff81000000 T _stext\nffffffff81000040 T vfs_read\nffffffff81001000 T _etext\n"
MODULES = [LoadedModule(f"{number:0240}", f"{number:040x}", 0, 0) for number in range(5000)]
TABLE = table_of_boot(KERNEL, b"\x07" * 20, MODULES)


class Enough(Exception):
    """The candidate was about to be stored."""


def add(monkeypatch: pytest.MonkeyPatch, path: Path) -> Candidate:
    """What would be stored of the file."""
    given: list[Candidate] = []

    def store(_engine: Engine, _archive: Archive, one: Candidate, **_how: object) -> None:
        given.append(one)
        raise Enough

    found = inspect(TABLE)
    monkeypatch.setattr(module, "inspect_in_child", lambda _path: found)
    monkeypatch.setattr(module.candidates, "add", store)
    service = SymbolService(cast("Engine", None), cast("Archive", None))
    with pytest.raises(Enough):
        service.add(path, name="kernel.table")
    [one] = given
    return one


def test_a_table_of_many_modules_with_long_names_is_told_by_all_of_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    path = tmp_path / "table"
    path.write_bytes(TABLE)
    assert add(monkeypatch, path).variant == kernel_of_table(TABLE).module_set


def test_a_table_that_cannot_be_read_is_unusable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    path = tmp_path / "table"
    path.write_bytes(TABLE[:100])  # it was written to since it was inspected
    with pytest.raises(UnusableFile, match=r"^kernel\.table: The descriptions"):
        add(monkeypatch, path)
