"""GIVEN the service WHEN what is brought has odd names THEN the rest is stored, and what is said can be shown."""

import io
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from services.symbols import symbol_service
from services.symbols.errors import UnusableFile
from services.symbols.symbol_service import SymbolService
from storage.errors import QuestionDropped
from storage.symbols import candidates, sources
from storage.symbols.errors import BadKey
from symbolizer.elf.links import AltLink


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the sources that were stored."""
    paths: list[str] = []
    monkeypatch.setattr(sources, "put_source", lambda *args: paths.append(args[3]))
    return paths


def test_sources_with_names_that_cannot_be_stored_are_skipped_and_counted(
    tmp_path: Path, stored: list[str]
) -> None:
    with tarfile.open(tmp_path / "tar", "w", format=tarfile.GNU_FORMAT) as archive:
        for name in ("a.c", "caf\udce9.c", "x" * 1100 + ".c", "b.c"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    there = SymbolService(None, None)  # type: ignore[arg-type]  # nothing is stored
    assert there.add_sources("aa", tmp_path / "tar") == {"key": "aa", "files": 2, "bytes": 0, "skipped": 2}
    assert stored == ["a.c", "b.c"]
    with pytest.raises(BadKey):
        there.add_sources("", tmp_path / "tar")


def test_sources_of_who_has_gone_are_stored_no_further(tmp_path: Path, stored: list[str]) -> None:
    with tarfile.open(tmp_path / "tar", "w") as archive:
        for name in ("a.c", "b.c", "c.c"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    there = SymbolService(None, None)  # type: ignore[arg-type]  # nothing is stored
    with pytest.raises(QuestionDropped, match="first 2 files"):
        there.add_sources("aa", tmp_path / "tar", stopping=lambda: len(stored) == 2)
    assert stored == ["a.c", "b.c"]


def test_sources_that_take_too_long_are_stored_no_further(
    tmp_path: Path, stored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(tmp_path / "tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("a.c"), io.BytesIO())
    monkeypatch.setattr(symbol_service, "MOST_SECONDS", 0)
    there = SymbolService(None, None)  # type: ignore[arg-type]  # nothing is stored
    with pytest.raises(UnusableFile, match="took more than 0 s"):
        there.add_sources("aa", tmp_path / "tar")
    assert stored == []


def test_a_link_to_another_file_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "ranked", lambda *_, **__: [])
    found = SimpleNamespace(alt_link=AltLink("a\x1b[2J\udcffb", b"\x01"))
    lacks = symbol_service._lacks(None, found)  # type: ignore[arg-type]  # of an inspection only this is read
    assert lacks.isprintable()
    assert lacks.encode()
