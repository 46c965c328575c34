"""Debug files: the best wins and can be replaced; no upload, sweep or crash leaves a row without its blob."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select, text, update

from storage.archive import Archive
from storage.schema import debug_file
from storage.symbols import absences, candidates, recent_changes, symbol_blobs
from storage.symbols.candidates import UPLOAD, Added, Candidate
from storage.symbols.errors import BadKey, SymbolFileTooLarge, UnknownDebugFile
from storage.symbols.kinds import FileKind, Quality

pytestmark = pytest.mark.integration

KEY = "4114a87d"


def sha(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


class Shop:
    """Brings files to one store."""

    def __init__(self, engine: Engine, archive: Archive, folder: Path) -> None:
        self.engine, self.archive, self.folder = engine, archive, folder

    def add(
        self,
        content: bytes,
        quality: Quality = Quality.DWARF,
        *,
        key: str = KEY,
        kind: FileKind = FileKind.DEBUGINFO,
        origin: str = UPLOAD,
        **more: str,
    ) -> Added:
        path = self.folder / sha(content).hex()
        path.write_bytes(content)
        return candidates.add(self.engine, self.archive, Candidate(key, kind, quality, path, origin, **more))

    def best(self, **which: object) -> bytes | None:
        with self.engine.connect() as connection:
            files = candidates.ranked(connection, KEY, **which)
        return files[0].sha256 if files else None

    def reject(self, content: bytes, why: str = "it is of another build") -> bool:
        with self.engine.begin() as connection:
            return candidates.reject(connection, KEY, sha(content), why)

    def rows(self) -> list[tuple[bytes, str | None]]:
        with self.engine.connect() as connection:
            return [(file.sha256, file.rejected) for file in candidates.every(connection, KEY)]

    def blobs(self) -> set[bytes]:
        return {
            content for key, _ in self.archive.keys("symbols") if (content := symbol_blobs.content_of(key))
        }

    def age(self, content: bytes, hours: float = 48) -> None:
        then = (datetime.now(UTC) - timedelta(hours=hours)).timestamp()
        os.utime(Path(self.archive.url) / symbol_blobs.key_of(sha(content)), (then, then))


@pytest.fixture
def shop(engine: Engine, archive: Archive, tmp_path: Path) -> Shop:
    folder = tmp_path / "files"
    folder.mkdir()
    return Shop(engine, archive, folder)


class TestRanking:
    def test_quality_then_the_newest(self, shop: Shop):
        assert shop.best() is None
        first = shop.add(b"exported names", Quality.DYNSYM)
        assert (first.outcome, first.best, first.replaced) == ("new", True, None)
        full = shop.add(b"with lines")
        assert full.best
        assert full.replaced == first.file
        worse = shop.add(b"names only", Quality.SYMTAB)
        assert (worse.best, worse.replaced) == (False, None)
        newer = shop.add(b"with lines, built again")
        assert newer.replaced == full.file
        with shop.engine.connect() as connection:
            order = [file.sha256 for file in candidates.ranked(connection, KEY)]
        assert order == [
            sha(b"with lines, built again"), sha(b"with lines"), sha(b"names only"), sha(b"exported names")
        ]  # fmt: skip

    def test_the_first_bad_upload_never_wins_for_good(self, shop: Shop):
        shop.add(b"bad, but with DWARF")
        good = shop.add(b"good", Quality.SYMTAB)
        assert not good.best
        assert shop.reject(b"bad, but with DWARF")
        assert not shop.reject(b"bad, but with DWARF"), "it was already"
        assert shop.best() == sha(b"good")
        assert shop.rows() == [
            (sha(b"good"), None),
            (sha(b"bad, but with DWARF"), "it is of another build"),
        ]

    def test_an_upload_takes_a_rejection_back_and_a_fetch_does_not(self, shop: Shop):
        shop.add(b"file", origin="https://debuginfod.example")
        shop.reject(b"file")
        fetched = shop.add(b"file", origin="https://debuginfod.example")
        assert (fetched.outcome, fetched.best, fetched.file.rejected) == (
            "known", False, "it is of another build"
        )  # fmt: skip
        contributions = shop.add(b"file", uploaded_by="ci")
        assert (contributions.outcome, contributions.best, contributions.file.uploaded_by) == (
            "restored",
            True,
            "ci",
        )

    def test_what_is_uploaded_once_more_is_the_newest(self, shop: Shop):
        shop.add(b"one")
        shop.add(b"two")
        again = shop.add(b"one")
        assert (again.outcome, again.best) == ("known", True)
        assert again.replaced is not None
        assert again.replaced.sha256 == sha(b"two")
        assert shop.add(b"one", origin="two machines: m, n").replaced is None

    def test_what_completes_another_file_is_no_rival_of_it(self, shop: Shop):
        shop.add(b"executable", Quality.SYMTAB, kind=FileKind.EXECUTABLE)
        split = shop.add(b"unit.dwo", kind=FileKind.SPLIT, name="unit.dwo")
        assert split.replaced is None
        assert shop.best() == sha(b"executable")
        assert shop.best(kinds=[FileKind.SPLIT]) == sha(b"unit.dwo")

    def test_variants_stand_beside_each_other(self, shop: Shop):
        one = shop.add(b"modules a", Quality.SYMTAB, kind=FileKind.KALLSYMS, variant="a")
        other = shop.add(b"modules b", Quality.SYMTAB, kind=FileKind.KALLSYMS, variant="b")
        assert one.best
        assert other.best
        assert other.replaced is None
        assert shop.best(variant="a") == sha(b"modules a")
        assert shop.best(variant="c") is None

    def test_one_file_may_be_of_several_binaries(self, shop: Shop):
        shop.add(b"shared")
        assert shop.add(b"shared", key="another").outcome == "new"
        with shop.engine.connect() as connection:
            found = candidates.known(connection, [sha(b"shared"), sha(b"never seen")])
        assert {key: sorted(file.binary_key for file in files) for key, files in found.items()} == {
            sha(b"shared"): [KEY, "another"]
        }

    def test_new_files_end_what_was_known_to_be_absent(self, shop: Shop):
        with shop.engine.begin() as connection:
            absences.note_absence(connection, KEY, "debuginfo", "https://d", reason="404", seconds=3600)
        shop.add(b"file")
        with shop.engine.connect() as connection:
            assert absences.known_absences(connection, KEY) == []

    def test_every_change_is_news(self, shop: Shop):
        def told() -> set[str]:
            with shop.engine.connect() as connection:
                return set(recent_changes.changed_since(connection, since).changed)

        with shop.engine.connect() as connection:
            first = recent_changes.changed_since(connection, None)
        assert not first.changed
        since = first.until
        assert told() == set()
        shop.add(b"file")
        assert told() == {KEY}
        with shop.engine.begin() as connection:
            connection.execute(update(debug_file).values(changed_at=func.now() - timedelta(hours=1)))
        assert told() == set()
        shop.reject(b"file")
        assert told() == {KEY}

    def test_refuses_what_cannot_be_stored(self, shop: Shop, tmp_path: Path):
        with pytest.raises(BadKey):
            shop.add(b"file", key="")
        (tmp_path / "big").write_bytes(b"12345")
        candidate = Candidate(KEY, FileKind.DEBUGINFO, Quality.DWARF, tmp_path / "big", UPLOAD)
        with pytest.raises(SymbolFileTooLarge):
            candidates.add(shop.engine, shop.archive, candidate, limit=4)
        with shop.engine.connect() as connection, pytest.raises(UnknownDebugFile, match=KEY):
            candidates.find(connection, KEY, sha(b"12345"))
        assert shop.blobs() == set()

    def test_use_is_noted_twice_a_day_at_most(self, shop: Shop):
        file = shop.add(b"file").file

        def used() -> datetime | None:
            with shop.engine.begin() as connection:
                candidates.touch(connection, file)
            with shop.engine.connect() as connection:
                return candidates.find(connection, KEY, file.sha256).used_at

        first = used()
        assert first is not None
        assert used() == first
        with shop.engine.begin() as connection:
            connection.execute(update(debug_file).values(used_at=first - timedelta(hours=13)))
        assert used() > first

    def test_a_removed_file_is_gone_with_the_next_sweep(self, shop: Shop, tmp_path: Path):
        shop.add(b"file")
        shop.add(b"file", key="another")
        shop.age(b"file")
        with shop.engine.begin() as connection:
            assert candidates.remove(connection, KEY, sha(b"file"))
            assert not candidates.remove(connection, KEY, sha(b"file"))
        assert symbol_blobs.sweep(shop.engine, shop.archive) == 0, "another binary has it"
        with shop.engine.begin() as connection:
            file = candidates.find(connection, "another", sha(b"file"))
            candidates.remove(connection, "another", sha(b"file"))
        candidates.fetch(shop.archive, file, tmp_path / "last")
        assert (tmp_path / "last").read_bytes() == b"file"
        assert symbol_blobs.sweep(shop.engine, shop.archive) == 1
        assert shop.blobs() == set()


KILLED_BETWEEN_BLOB_AND_ROW = """
import os, signal, sys
from pathlib import Path
from storage.archive import Archive
from storage.symbols import symbol_blobs
symbol_blobs.put_file(Archive(sys.argv[1]), Path(sys.argv[2]))
os.kill(os.getpid(), signal.SIGKILL)
"""


class TestTogether:
    def test_many_upload_the_same_file_at_once(self, shop: Shop):
        """One row, one blob, and exactly one of them is told that it is new."""
        ready = threading.Barrier(6)
        path = shop.folder / "same"
        path.write_bytes(b"the same" * 10_000)
        told: list[Added] = []

        def upload() -> None:
            ready.wait(30)
            candidate = Candidate(KEY, FileKind.EXECUTABLE, Quality.DWARF, path, UPLOAD)
            told.append(candidates.add(shop.engine, shop.archive, candidate))

        threads = [threading.Thread(target=upload) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(one.outcome for one in told) == ["known"] * 5 + ["new"]
        assert all(one.best for one in told)
        assert len(shop.rows()) == len(shop.blobs()) == 1

    def test_many_upload_different_files_of_one_binary_at_once(self, shop: Shop):
        """Each that became the best replaced the one that was the best just before it."""
        ready = threading.Barrier(6)
        told: list[Added] = []

        def upload(number: int) -> None:
            ready.wait(30)
            told.append(shop.add(b"build %d" % number))

        threads = [threading.Thread(target=upload, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(told) == 6
        replaced = [one.replaced.sha256 for one in told if one.replaced is not None]
        assert len(set(replaced)) == len(replaced) == len([one for one in told if one.best]) - 1
        assert shop.best() in {one.file.sha256 for one in told if one.best}

    @pytest.mark.slow
    def test_killed_between_blob_and_row_leaves_an_orphan_that_goes(self, shop: Shop):
        path = shop.folder / "orphan"
        path.write_bytes(b"orphan")
        command = [sys.executable, "-c", KILLED_BETWEEN_BLOB_AND_ROW, shop.archive.url, str(path)]
        assert subprocess.run(command, timeout=60, check=False).returncode == -signal.SIGKILL
        assert shop.blobs() == {sha(b"orphan")}
        assert symbol_blobs.sweep(shop.engine, shop.archive) == 0, "its row may still be on the way"
        shop.age(b"orphan")
        assert symbol_blobs.sweep(shop.engine, shop.archive, stopping=lambda: True) == 0
        assert symbol_blobs.sweep(shop.engine, shop.archive) == 1
        assert shop.blobs() == set()

    def test_an_upload_of_an_old_orphan_that_is_swept_meanwhile(self, shop: Shop, monkeypatch):
        """The upload finds the content stored already, and then the sweep takes it."""
        symbol_blobs.put_bytes(shop.archive, b"old")
        shop.age(b"old")
        size, swept = shop.archive.size, []

        def sweeping(key: str) -> int:
            found = size(key)
            if not swept:
                swept.append(symbol_blobs.sweep(shop.engine, shop.archive))
            return found

        monkeypatch.setattr(shop.archive, "size", sweeping)
        assert shop.add(b"old").outcome == "new"
        assert swept == [1]
        assert shop.blobs() == {sha(b"old")}

    def test_a_sweep_that_deletes_an_orphan_that_is_uploaded_meanwhile(self, shop: Shop, monkeypatch):
        """The sweep has seen that no row names it when the upload comes to write one."""
        symbol_blobs.put_bytes(shop.archive, b"old")
        shop.age(b"old")
        delete, uploads = shop.archive.delete, []
        uploader = threading.Thread(target=lambda: uploads.append(shop.add(b"old")))

        def deleting(key: str) -> None:
            uploader.start()
            wait_until_someone_waits(shop.engine)
            delete(key)

        monkeypatch.setattr(shop.archive, "delete", deleting)
        assert symbol_blobs.sweep(shop.engine, shop.archive) == 1
        uploader.join(60)
        assert [one.outcome for one in uploads] == ["new"]
        assert shop.blobs() == {sha(b"old")}
        assert symbol_blobs.sweep(shop.engine, shop.archive, grace=timedelta(0)) == 0

    def test_a_sweep_that_comes_after_the_row_leaves_the_blob(self, shop: Shop, monkeypatch):
        """The sweep listed it as an orphan, and an upload wrote its row before the sweep held it."""
        symbol_blobs.put_bytes(shop.archive, b"old")
        shop.age(b"old")
        hold, added = symbol_blobs.hold, []

        def adding(connection, sha256: bytes) -> None:
            if not added:
                added.append(True)
                added.append(shop.add(b"old"))
            hold(connection, sha256)

        monkeypatch.setattr(symbol_blobs, "hold", adding)
        assert symbol_blobs.sweep(shop.engine, shop.archive) == 0
        assert shop.blobs() == {sha(b"old")}
        assert len(shop.rows()) == 1


def wait_until_someone_waits(engine: Engine) -> None:
    """Until a backend of this database waits for a lock."""
    waiting = text(
        "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
        " WHERE NOT l.granted AND a.datname = current_database()"
    )
    deadline = datetime.now(UTC) + timedelta(seconds=30)
    while datetime.now(UTC) < deadline:
        with engine.connect() as connection:
            if connection.scalar(waiting):
                return
    raise AssertionError("nobody waited")


def test_no_row_is_without_its_blob(shop: Shop):
    for number in range(5):
        shop.add(b"%d" % number)
    with shop.engine.connect() as connection:
        named = set(connection.scalars(select(debug_file.c.sha256)))
    assert {bytes(one) for one in named} == shop.blobs()
