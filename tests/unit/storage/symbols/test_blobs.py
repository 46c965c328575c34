"""Blobs of symbols: named by content, streamed, verified; no database needed."""

import hashlib
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from storage.archive import Archive
from storage.errors import BlobMissing, BlobTooLarge
from storage.symbols import symbol_blobs
from storage.symbols.errors import BlobDamaged, SymbolFileChanged, SymbolFileTooLarge


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "libx.so.debug"
    path.write_bytes(b"\x7fELF" + bytes(range(256)) * 9000)  # over two mebibytes
    return path


@pytest.fixture(params=["directory", "bucket"])
def any_archive(request, tmp_path: Path) -> Archive:
    return Archive(str(tmp_path / "archive") if request.param == "directory" else f"memory://{tmp_path.name}")


def test_what_is_fetched_is_what_was_put(any_archive: Archive, file: Path, tmp_path: Path):
    stored = symbol_blobs.put_file(any_archive, file)
    assert stored.sha256 == hashlib.sha256(file.read_bytes()).digest()
    assert (
        stored.raw_bytes
        == file.stat().st_size
        > stored.bytes
        == any_archive.size(symbol_blobs.key_of(stored.sha256))
    )
    symbol_blobs.fetch(any_archive, stored.sha256, tmp_path / "back", limit=stored.raw_bytes)
    assert (tmp_path / "back").read_bytes() == file.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["back", file.name]


def test_what_a_killed_fetch_leaves_has_the_name_that_folders_clean_up(
    archive: Archive, file: Path, tmp_path
):
    stored = symbol_blobs.put_file(archive, file)
    target = tmp_path / ".unfinished-of-a-folder"
    seen: list[str] = []

    class Watched(Archive):
        def chunks(self, key: str, *, limit: int = 0):
            yield from archive.chunks(key, limit=limit)
            seen.extend(path.name for path in tmp_path.glob(".*"))

    symbol_blobs.fetch(Watched(archive.url), stored.sha256, target, limit=stored.raw_bytes)
    assert len(seen) == 1
    assert seen[0].startswith(".unfinished-")


def test_the_same_content_is_stored_once(archive: Archive, file: Path, tmp_path: Path):
    first = symbol_blobs.put_file(archive, file)
    path = tmp_path / "archive" / symbol_blobs.key_of(first.sha256)
    written = path.stat().st_mtime_ns
    (tmp_path / "copy").write_bytes(file.read_bytes())
    assert (
        symbol_blobs.put_file(archive, tmp_path / "copy")
        == first
        == symbol_blobs.put_bytes(archive, file.read_bytes())
    )
    assert path.stat().st_mtime_ns == written
    assert [key for key, _ in archive.keys("symbols")] == [symbol_blobs.key_of(first.sha256)]


@given(data=st.binary(max_size=5000))
def test_any_bytes_come_back(data: bytes):
    archive = Archive("memory://blobs-any")
    stored = symbol_blobs.put_bytes(archive, data)
    assert symbol_blobs.read_bytes(archive, stored.sha256, limit=len(data)) == data
    assert symbol_blobs.content_of(symbol_blobs.key_of(stored.sha256)) == stored.sha256


@pytest.mark.parametrize("key", ["", "captures/x", f"symbols/ab/{'cd' * 32}", f"symbols/ab/{'cd' * 31}.zst"])
def test_other_keys_name_no_content(key: str):
    assert symbol_blobs.content_of(key) is None


def test_a_file_over_the_limit_is_not_read(archive: Archive, tmp_path: Path):
    sparse = tmp_path / "huge"
    with sparse.open("wb") as out:
        out.truncate(1 << 40)  # a tebibyte would take an hour to read
    with pytest.raises(SymbolFileTooLarge, match="huge"):
        symbol_blobs.put_file(archive, sparse, limit=1 << 30)
    assert list(archive.keys()) == []


def test_gigabytes_are_never_in_memory(archive: Archive, tmp_path: Path):
    """256 MiB of zeros pack to 8 KiB, which must not be unpacked in one piece either."""
    sparse = tmp_path / "zeros"
    with sparse.open("wb") as out:
        out.truncate(256 << 20)
    tracemalloc.start()
    stored = symbol_blobs.put_file(archive, sparse)
    largest = max(len(part) for part in symbol_blobs.read_chunks(archive, stored.sha256, limit=256 << 20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert stored.bytes < 64 << 10
    assert largest <= 1 << 20
    assert peak < 16 << 20


def test_a_large_blob_reaches_a_bucket_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("storage.blob_bucket._ONE_PUT", 1000)
    archive = Archive(f"memory://{tmp_path.name}")
    assert archive.put_chunks("a/b", [b"x" * 700, b"y" * 700]) == 1400
    assert archive.get("a/b") == b"x" * 700 + b"y" * 700


class TestDamage:
    def damaged(self, archive: Archive, content: bytes, blob: bytes) -> bytes:
        sha256 = hashlib.sha256(content).digest()
        archive.put(symbol_blobs.key_of(sha256), blob)
        return sha256

    @pytest.mark.parametrize("damage", ["cut", "flipped", "other", "nothing", "no zstd", "trailing"])
    def test_is_found_before_the_last_part_is_given(self, archive: Archive, tmp_path: Path, damage: str):
        content = bytes(range(256)) * 8192
        packed = zstandard.compress(content)
        blob = {
            "cut": packed[:-5],
            "flipped": packed[:40] + bytes([packed[40] ^ 1]) + packed[41:],
            "other": zstandard.compress(content[:-1] + b"?"),
            "nothing": b"",
            "no zstd": b"not compressed at all",
            "trailing": zstandard.compress(content + b"more"),
        }[damage]
        sha256 = self.damaged(archive, content, blob)
        with pytest.raises((BlobDamaged, BlobTooLarge)):
            symbol_blobs.fetch(archive, sha256, tmp_path / "target", limit=len(content))
        assert not (tmp_path / "target").exists()
        assert [path for path in tmp_path.iterdir() if path.is_file()] == []

    def test_a_bomb_stops_at_what_its_row_says(self, archive: Archive):
        sha256 = self.damaged(archive, b"x", zstandard.compress(bytes(64 << 20)))
        with pytest.raises(BlobDamaged, match="more than"):
            symbol_blobs.read_bytes(archive, sha256, limit=1 << 20)

    def test_is_mended_by_who_brings_the_content_again(self, archive: Archive, file: Path):
        stored = symbol_blobs.put_file(archive, file)
        for damage in (b"", b"damaged", zstandard.compress(b"other"), bytes(10 << 20)):
            archive.put(symbol_blobs.key_of(stored.sha256), damage)
            symbol_blobs.put_file(archive, file)
            with pytest.raises((BlobDamaged, BlobTooLarge)):
                symbol_blobs.read_bytes(archive, stored.sha256, limit=stored.raw_bytes)
            assert symbol_blobs.put_file(archive, file, mend=True) == stored
            assert (
                symbol_blobs.read_bytes(archive, stored.sha256, limit=stored.raw_bytes) == file.read_bytes()
            )

    def test_what_is_not_there_is_missing(self, archive: Archive, tmp_path: Path):
        with pytest.raises(BlobMissing):
            symbol_blobs.fetch(archive, bytes(32), tmp_path / "target", limit=1)


class TestChangedWhileStored:
    """Somebody links a program while it is uploaded: nothing may be stored under a name that is not its own."""

    @pytest.mark.parametrize("change", ["grown", "shrunk", "written"])
    def test_is_refused(self, archive: Archive, file: Path, monkeypatch: pytest.MonkeyPatch, change: str):
        size = archive.size

        def changing(key: str) -> int:  # asked between the two times the file is read
            old = file.read_bytes()
            file.write_bytes({"grown": old + b"!", "shrunk": old[:-1], "written": old[:-1] + b"!"}[change])
            return size(key)

        monkeypatch.setattr(archive, "size", changing)
        with pytest.raises(SymbolFileChanged):
            symbol_blobs.put_file(archive, file)
        assert list(archive.keys()) == []
