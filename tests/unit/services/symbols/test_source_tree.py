"""GIVEN source files WHEN they travel as an archive THEN they arrive under the paths they were built at."""

import io
import resource
import tarfile
import time
from pathlib import Path, PurePosixPath

import pytest

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
    with pytest.raises(UnusableFile, match="the limit of a source file is"):
        list(source_tree.unpack(archive))


def test_an_archive_that_takes_long_costs_its_child_no_more_than_allowed_and_this_process_nothing(
    tmp_path: Path,
):
    header = tarfile.TarInfo("a.c").tobuf(tarfile.GNU_FORMAT)
    with (tmp_path / "tar").open("wb") as archive:
        for _ in range(200):
            archive.write(header * 1000)  # listing 200,000 of them takes 9 s
    own, child = time.process_time(), child_cpu_s()
    with pytest.raises(UnusableFile, match="within 1 CPU s"):
        list(source_tree.unpack(tmp_path / "tar", cpu_seconds=1))
    assert child_cpu_s() - child < 3
    assert time.process_time() - own < 1


def test_an_archive_that_needs_much_memory_fails_in_its_child(tmp_path: Path):
    # Each header is held until the one it is about was read.
    more = tarfile.TarInfo("more")
    more.type, more.size = tarfile.XHDTYPE, 64 << 10
    header = more.tobuf() + b"65536 comment=".ljust(65_535, b"x") + b"\n"
    (tmp_path / "tar").write_bytes(header * 250 + tarfile.TarInfo("a.c").tobuf() + bytes(1024))
    assert dict(source_tree.unpack(tmp_path / "tar")) == {"a.c": b""}
    with pytest.raises(UnusableFile, match="more than 32 MiB"):
        list(source_tree.unpack(tmp_path / "tar", memory_bytes=32 << 20))


def test_nothing_is_read_for_who_has_gone(tmp_path: Path):
    (tmp_path / "tar").write_bytes(tarfile.TarInfo("a.c").tobuf() + bytes(1024))
    assert list(source_tree.unpack(tmp_path / "tar", stopping=lambda: True)) == []


def child_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
