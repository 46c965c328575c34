"""Uploads when this machine's disk or the store fails; with a real store in tests/integration/test_uploaded_symbols.py."""

import errno
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from storage.archive import Archive
from storage.errors import DatabaseUnavailable
from storage.symbols import candidates
from storage.symbols.candidates import DebugFile
from storage.symbols.kinds import FileKind, Quality
from symbolizer.dwarf.units import DwarfUnit
from symbolizer.identity import ImageIdentity
from symbolizer.sources.download_folder import DownloadFolder
from symbolizer.sources.opened_elf import open_elf
from symbolizer.sources.source import Found, Missing
from symbolizer.sources.symbol_store_source import Uploaded

WHO = ImageIdentity("aa", "x", "/x", b"\xaa", "")
ENGINE = SimpleNamespace(connect=nullcontext, begin=nullcontext)


def row(number: int) -> DebugFile:
    return DebugFile(
        debug_file_id=number, binary_key=WHO.key, kind=FileKind.SPLIT, variant="", name="x.debug",
        quality=Quality.DWARF, sha256=number.to_bytes(32, "big"), bytes=1, raw_bytes=1, origin="upload",
        uploaded_by="", added_at=datetime.now(UTC), rejected=None, used_at=None,
    )  # fmt: skip


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, programs) -> None:
    """Two uploads of the program for whatever is asked."""
    content = programs.pie.read_bytes()
    monkeypatch.setattr(candidates, "ranked", lambda *_, **__: [row(1), row(2)])
    monkeypatch.setattr(candidates, "touch", lambda *_: None)
    monkeypatch.setattr(candidates, "fetch", lambda _, __, target: target.write_bytes(content))


def uploaded(folder: Path) -> Uploaded:
    return Uploaded(ENGINE, Archive("memory://none"), DownloadFolder(folder))


def open_below(folder: Path) -> list[str]:
    links = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return [str(link) for link in links if link.is_relative_to(folder)]


@pytest.mark.usefixtures("store")
def test_a_folder_that_cannot_be_made_costs_the_upload_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    missing = uploaded(tmp_path / "file" / "copies").debug_file(WHO, None)
    assert isinstance(missing, Missing)
    assert "cannot store a copy of the upload of x.debug: Not a directory" in missing.reason


@pytest.mark.usefixtures("store")
def test_a_full_folder_costs_the_upload_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(_: Archive, __: DebugFile, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    monkeypatch.setattr(candidates, "fetch", fetch)
    missing = uploaded(tmp_path).executable(WHO)
    assert isinstance(missing, Missing)
    assert "No space left on device" in missing.reason


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("away", [1, 2])
def test_a_store_that_fails_in_between_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs, away: int
) -> None:
    def touch(_: object, file: DebugFile) -> None:
        if file.debug_file_id == away:
            raise DatabaseUnavailable("gone")

    monkeypatch.setattr(candidates, "touch", touch)
    debug = open_elf(programs.pie)
    assert isinstance(debug, Found)
    unit = DwarfUnit(5, 1, "x.c", "/", "gcc", "x.dwo")
    with debug.content, pytest.raises(DatabaseUnavailable) as failure:
        uploaded(tmp_path).split_files(WHO, debug, [unit])
    assert failure.tb, "which keeps all that was opened"
    assert open_below(tmp_path) == []
