import os
import threading
from pathlib import Path

import pytest

from symbolizer.sources.download_folder import DownloadFolder


def writes(content: bytes):
    return lambda path: path.write_bytes(content)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(".lock")}


def test_a_file_is_fetched_once(tmp_path: Path) -> None:
    folder = DownloadFolder(tmp_path / "made" / "later")
    assert folder.open("one") is None
    with folder.obtain("one", writes(b"first")) as content:
        assert content[0:10] == b"first"
    with folder.obtain("one", writes(b"second")) as content:
        assert content[0:10] == b"first"
    folder.drop("one")
    with folder.obtain("one", writes(b"second")) as content:
        assert content[0:10] == b"second"


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    def fetch(path: Path) -> None:
        path.write_bytes(b"half of it")
        raise ConnectionError("cut")

    folder = DownloadFolder(tmp_path)
    with pytest.raises(ConnectionError):
        folder.obtain("one", fetch)
    assert names(tmp_path) == set()


def test_the_least_recently_used_give_way(tmp_path: Path) -> None:
    folder = DownloadFolder(tmp_path, limit_bytes=250)
    for at, name in enumerate(("one", "two")):
        folder.obtain(name, writes(bytes(100))).close()
        os.utime(tmp_path / name, (at, at))
    used = folder.open("one")
    assert used is not None
    folder.obtain("three", writes(bytes(100))).close()
    assert names(tmp_path) == {"one", "three"}
    folder.obtain("large", writes(bytes(1000))).close()
    assert names(tmp_path) == {"large"}
    with used:
        assert len(used[0:200]) == 100  # whoever has it open still reads it


def test_downloads_of_the_killed_are_removed_when_they_are_old(tmp_path: Path) -> None:
    folder = DownloadFolder(tmp_path)
    folder.obtain("one", writes(b"1")).close()
    [lock] = tmp_path.glob(".lock*")
    for name in (".unfinished-old", "..unfinished-older.0123", ".unfinished-young"):
        (tmp_path / name).write_bytes(b"x")
        if "old" in name:
            os.utime(tmp_path / name, (0, 0))
    os.utime(lock, (0, 0))
    left: list[set[str]] = []
    folder.obtain("two", lambda path: left.append(names(tmp_path) - {path.name})).close()
    assert left == [{"one", ".unfinished-young"}], "before the disk is needed"
    assert lock.exists()


def test_what_cannot_be_put_in_place_is_closed_and_removed(tmp_path: Path) -> None:
    (tmp_path / "one" / "in the way").mkdir(parents=True)
    before = set(Path("/proc/self/fd").iterdir())
    with pytest.raises(OSError, match="one"):
        DownloadFolder(tmp_path).obtain("one", writes(b"1"))
    assert set(Path("/proc/self/fd").iterdir()) <= before
    assert names(tmp_path) == {"one"}


def test_all_who_ask_at_once_wait_for_one(tmp_path: Path) -> None:
    folder = DownloadFolder(tmp_path)
    fetched = []
    begun = threading.Barrier(4)

    def fetch(path: Path) -> None:
        fetched.append(path)
        path.write_bytes(b"1")

    def ask() -> None:
        begun.wait()
        folder.obtain("one", fetch).close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fetched) == 1


@pytest.mark.parametrize("name", ["", ".hidden", "../up", "a/b", "A" * 300, "x\0"])
def test_names_are_not_paths(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        DownloadFolder(tmp_path).obtain(name, writes(b""))
