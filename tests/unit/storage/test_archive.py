import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.archive import Archive, capture_key, visit_of
from storage.errors import ArchiveUnavailable, BlobMissing, BlobTooLarge

VISIT = UUID("0b5fd7a2-34b4-4c2e-9d43-3a1c2f3d4e5f")
KEY = "captures/2026-11-21/0b/0b5fd7a2-34b4-4c2e-9d43-3a1c2f3d4e5f.cap.zst"


def names(archive: Archive, prefix: str = "") -> list[str]:
    return [key for key, _ in sorted(archive.keys(prefix))]


@pytest.fixture(params=["path", "file", "fsspec"])
def any_archive(request, tmp_path: Path) -> Archive:
    """The same contract over a directory, however named, and over an fsspec file system."""
    urls = {
        "path": str(tmp_path / "a"),
        "file": f"file://{tmp_path}/a",
        "fsspec": f"memory://{tmp_path.name}",
    }
    return Archive(urls[request.param])


def test_what_was_put_is_there_and_what_was_deleted_is_not(any_archive: Archive):
    any_archive.put(KEY, b"one")
    any_archive.put("debug/ab/cd", b"")
    assert any_archive.get(KEY) == b"one"
    assert names(any_archive) == [KEY, "debug/ab/cd"]
    assert names(any_archive, "captures") == [KEY]
    any_archive.put(KEY, b"two")
    assert any_archive.get(KEY) == b"two"
    any_archive.delete(KEY)
    any_archive.delete(KEY)
    with pytest.raises(BlobMissing, match=VISIT.hex[:8]):
        any_archive.get(KEY)


def test_a_blob_goes_in_and_comes_out_in_parts(any_archive: Archive):
    parts = [b"a" * 700_000, b"", b"b" * 700_000, b"c" * 800_000]
    assert any_archive.put_chunks(KEY, iter(parts)) == any_archive.size(KEY) == 2_200_000
    read = list(any_archive.chunks(KEY))
    assert b"".join(read) == b"".join(parts)
    assert max(map(len, read)) <= 1 << 20
    with pytest.raises(BlobTooLarge):
        list(any_archive.chunks(KEY, limit=2_199_999))
    with pytest.raises(BlobMissing):
        any_archive.size("not/there")
    with pytest.raises(BlobMissing):
        list(any_archive.chunks("not/there"))


def test_what_makes_the_parts_may_fail_and_nothing_is_stored(any_archive: Archive):
    def failing():
        yield b"half"
        raise FileNotFoundError("the caller's own file")

    with pytest.raises(FileNotFoundError, match="own file"):
        any_archive.put_chunks(KEY, failing())
    assert names(any_archive) == []
    with pytest.raises(BlobMissing):
        any_archive.get(KEY)


def test_times_are_those_of_writing(any_archive: Archive):
    before = datetime.now(UTC) - timedelta(seconds=2)  # file systems' clocks tick coarsely
    any_archive.put(KEY, b"x")
    ((_, written),) = any_archive.keys()
    assert before <= written <= datetime.now(UTC) + timedelta(seconds=2)


def test_a_blob_over_the_limit_is_not_read(any_archive: Archive):
    any_archive.put(KEY, b"12345")
    assert any_archive.get(KEY, limit=5) == b"12345"
    with pytest.raises(BlobTooLarge):
        any_archive.get(KEY, limit=4)


def test_an_archive_never_written_to_is_empty(any_archive: Archive):
    assert list(any_archive.keys()) == []


def test_keys_cannot_leave_the_archive(any_archive: Archive):
    for key in ("", "/etc/passwd", "../x", "a/../x", "a//b", ".hidden", "a/.hidden", "a b", "a\n", "a" * 513):
        with pytest.raises(ValueError):
            any_archive.put(key, b"")


def test_an_unwritable_archive_says_so(tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    archive = Archive(str(tmp_path / "file"))
    with pytest.raises(ArchiveUnavailable, match="Cannot write to the archive"):
        archive.put(KEY, b"")
    with pytest.raises(ArchiveUnavailable, match="Cannot read the archive"):
        archive.get(KEY)


FILLING = """
import resource, sys
from storage.archive import Archive
from storage.errors import ArchiveUnavailable
archive = Archive(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
for chunks in ([b"x" * 4097], [b"x" * 4096, b"x"], [b"x"] * 5000, [b"x" * 9000, b"x" * 9000]):
    try:
        archive.put_chunks("a/b", iter(chunks))
    except ArchiveUnavailable as error:
        print(error)
assert archive.put_chunks("a/b", iter([b"x" * 96, b"y" * 4000])) == 4096
assert archive.get("a/b") == b"x" * 96 + b"y" * 4000
"""


def test_a_disk_that_is_full_after_some_bytes_says_so(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", FILLING, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"Cannot write to the archive {tmp_path}: File too large.\n" * 4
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["b"]


def test_a_url_of_nothing_we_know_says_so():
    with pytest.raises(ArchiveUnavailable, match="nowhere://bucket"):
        Archive("nowhere://bucket").put(KEY, b"")


def test_half_written_blobs_are_invisible_and_go_when_old(tmp_path: Path):
    archive = Archive(str(tmp_path))
    archive.put(KEY, b"whole")
    half = (tmp_path / KEY).parent / ".unfinished-0123"
    half.write_bytes(b"ha")
    assert names(archive) == [KEY]
    assert archive.discard_unfinished(datetime.now(UTC) - timedelta(hours=1)) == 0
    assert archive.discard_unfinished(datetime.now(UTC) + timedelta(hours=1)) == 1
    assert not half.exists()
    assert archive.get(KEY) == b"whole"


def test_a_failed_put_leaves_nothing(tmp_path: Path):
    archive = Archive(str(tmp_path))
    (tmp_path / KEY).mkdir(parents=True)  # the rename cannot replace a folder
    with pytest.raises(ArchiveUnavailable):
        archive.put(KEY, b"x")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_folders_are_for_this_user_only(tmp_path: Path):
    Archive(str(tmp_path / "a")).put(KEY, b"")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700


@given(st.uuids(), st.dates())
def test_a_captures_key_names_its_visit(visit_id: UUID, day: date):
    assert visit_of(capture_key(day, visit_id)) == visit_id


def test_the_layout_of_keys_is_fixed():
    assert capture_key(date(2026, 11, 21), VISIT) == KEY


@pytest.mark.parametrize(
    "key", ["", "debug/x", KEY + ".tmp", KEY.replace("/0b/", "/"), KEY.replace("3a1c2f3d4e5f", "zz")]
)
def test_other_keys_name_no_visit(key: str):
    assert visit_of(key) is None
