"""GIVEN source files WHEN they travel as an archive THEN they arrive under the paths they were built at."""

import io
import tarfile
from contextlib import suppress
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.symbols import source_tree
from services.symbols.errors import UnusableFile
from storage.symbols.sources import MAX_SOURCE_BYTES

BUILT_AT = PurePosixPath("/build/shop-1.2")


def packed(folder: Path, target: Path) -> int:
    with target.open("wb") as file:
        return source_tree.pack(
            list(source_tree.source_files(folder)), folder, BUILT_AT, file, lambda _: None
        )


def test_sources_are_found_by_their_endings(tmp_path: Path):
    for name in ("src/a.c", "src/deep/b.HPP", "src/c.rs", "src/notes.txt", "src/.git/x.c", "src/prog"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    assert packed(tmp_path / "src", tmp_path / "tar") == 3
    assert dict(source_tree.unpack(tmp_path / "tar")) == {
        "/build/shop-1.2/a.c": b"src/a.c",
        "/build/shop-1.2/c.rs": b"src/c.rs",
        "/build/shop-1.2/deep/b.HPP": b"src/deep/b.HPP",
    }


def test_a_file_over_the_limit_stays_behind(tmp_path: Path):
    (tmp_path / "huge.c").touch()
    with (tmp_path / "huge.c").open("r+b") as file:
        file.truncate(MAX_SOURCE_BYTES + 1)
    assert packed(tmp_path, tmp_path / "tar") == 0


def test_an_archive_has_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    archive = tmp_path / "tar"
    with tarfile.open(archive, "w") as members:
        for name in ("a.c", "b.c"):
            members.addfile(tarfile.TarInfo(name), io.BytesIO())
    monkeypatch.setattr(source_tree, "MOST_FILES", 1)
    with pytest.raises(UnusableFile, match="more than 1 files"):
        list(source_tree.unpack(archive))
    with tarfile.open(archive, "w") as members:
        for name in ("a", "b"):
            folder = tarfile.TarInfo(name)
            folder.type = tarfile.DIRTYPE
            members.addfile(folder)
    with pytest.raises(UnusableFile, match="more than 1 files"):
        list(source_tree.unpack(archive))
    member = tarfile.TarInfo("huge.c")
    member.size = MAX_SOURCE_BYTES + 1
    archive.write_bytes(member.tobuf())
    with pytest.raises(UnusableFile, match="sources have at most"):
        list(source_tree.unpack(archive))


def test_headers_about_headers_are_refused(tmp_path: Path):
    header = tarfile.TarInfo("more")
    header.type = tarfile.XHDTYPE
    (tmp_path / "tar").write_bytes(header.tobuf() * 5000)
    with pytest.raises(UnusableFile, match="extended headers"):
        list(source_tree.unpack(tmp_path / "tar"))


@settings(max_examples=60, deadline=None)
@given(
    damage=st.lists(st.tuples(st.integers(0, 2047), st.integers(0, 255)), max_size=12),
    cut=st.integers(1, 4096),
)
def test_a_damaged_archive_is_refused_or_read_never_a_mistake(
    tmp_path_factory: pytest.TempPathFactory, damage: list[tuple[int, int]], cut: int
):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("a.c", "é" * 120 + ".c"):
            member = tarfile.TarInfo(name)
            member.size = 5
            archive.addfile(member, io.BytesIO(b"text\n"))
    content = bytearray(buffer.getvalue())
    for at, byte in damage:
        content[at] = byte
    path = tmp_path_factory.mktemp("tar") / "tar"
    path.write_bytes(content[:cut])
    with suppress(UnusableFile):
        assert all(len(text) <= MAX_SOURCE_BYTES for _, text in source_tree.unpack(path))
