"""Source files by content, and what is known to be nowhere."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import Engine, func, insert, select, update

from storage.archive import Archive
from storage.schema import binary, source_file, symbol_absence
from storage.symbols import sources
from storage.symbols.absences import (
    forget_absences,
    known_absence,
    known_absences,
    note_absence,
    source_kind,
)
from storage.symbols.errors import BadKey, SymbolFileTooLarge
from tests.fact_writer import FactWriter

pytestmark = pytest.mark.integration

TEXT = "int main(void) { return 0; } /* ü */\n".encode()


def read(engine: Engine, archive: Archive, key: str, path: str) -> bytes | None:
    with engine.connect() as connection:
        found = sources.find_source(connection, key, path)
    return None if found is None else sources.read_source(archive, found)


class TestSources:
    def test_a_text_is_kept_once_for_all_builds(self, engine: Engine, archive: Archive):
        first = sources.put_source(engine, archive, "b1", "/src/./a/../main.c", TEXT)
        second = sources.put_source(engine, archive, "b2", "/elsewhere/main.c", TEXT)
        assert first.sha256 == second.sha256
        assert first.path == "/src/main.c"
        assert read(engine, archive, "b1", "/src/x/../main.c") == TEXT
        assert read(engine, archive, "b2", "/elsewhere/main.c") == TEXT
        assert read(engine, archive, "b2", "/src/main.c") is None
        assert len(list(archive.keys("symbols"))) == 1
        with engine.connect() as connection:
            assert connection.scalar(select(func.count()).select_from(source_file)) == 1

    def test_versions_of_a_file_coexist(self, engine: Engine, archive: Archive):
        for build in range(3):
            sources.put_source(engine, archive, f"b{build}", "/src/main.c", TEXT + b"%d" % build)
        assert [read(engine, archive, f"b{n}", "/src/main.c") for n in range(3)] == [
            TEXT + b"%d" % n for n in range(3)
        ]

    def test_a_correction_takes_the_place_of_what_was_wrong(self, engine: Engine, archive: Archive):
        sources.put_source(engine, archive, "b", "main.c", b"of another branch")
        sources.put_source(engine, archive, "b", "main.c", TEXT)
        assert read(engine, archive, "b", "main.c") == TEXT

    def test_a_binary_is_built_from_the_files_of_its_functions(self, engine: Engine):
        long = "/" + "ü" * 5000
        with engine.begin() as connection:
            connection.execute(insert(binary).values(key="k", name="app", path="/app", kind="file"))
            write = FactWriter(connection)
            write.function("f", file=f"{long}.c", binary="app")
            write.function("g", file="/build/./a.c", binary="app")
            assert sources.is_built_from(connection, "k", "/build/./a.c")
            assert not sources.is_built_from(connection, "k", "/build/b.c")
            assert not sources.is_built_from(connection, "other", "/build/./a.c")
            with pytest.raises(BadKey):
                sources.is_built_from(connection, "k", f"{long}.c")

    def test_many_paths_are_asked_for_together(self, engine: Engine, archive: Archive):
        for name in ("a.c", "b.c"):
            sources.put_source(engine, archive, "b", f"/src/{name}", name.encode())
        with engine.connect() as connection:
            found = sources.find_sources(connection, "b", ["/src/a.c", "/src//b.c", "/src/c.c"])
        assert {path: source.raw_bytes for path, source in found.items()} == {"/src/a.c": 3, "/src/b.c": 3}

    def test_many_bring_the_same_text_at_once(self, engine: Engine, archive: Archive):
        ready = threading.Barrier(4)
        done = []

        def put(number: int) -> None:
            ready.wait(30)
            done.append(sources.put_source(engine, archive, f"b{number % 2}", "main.c", TEXT))

        threads = [threading.Thread(target=put, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(done) == 4
        assert read(engine, archive, "b0", "main.c") == read(engine, archive, "b1", "main.c") == TEXT

    def test_nothing_but_sources_of_binaries(self, engine: Engine, archive: Archive):
        with pytest.raises(BadKey):
            sources.put_source(engine, archive, "b", "", TEXT)
        with pytest.raises(BadKey):
            sources.put_source(engine, archive, "b", "a" * 2000, TEXT)
        with pytest.raises(SymbolFileTooLarge, match=r"huge\.c"):
            sources.put_source(engine, archive, "b", "huge.c", bytes(sources.MAX_SOURCE_BYTES + 1))
        assert list(archive.keys("symbols")) == []

    def test_an_empty_file_is_a_source(self, engine: Engine, archive: Archive):
        sources.put_source(engine, archive, "b", "__init__.py", b"")
        assert read(engine, archive, "b", "__init__.py") == b""


class TestAbsences:
    def test_one_asks_for_all_until_it_is_over(self, engine: Engine):
        with engine.begin() as connection:
            note_absence(connection, "b", "debuginfo", "https://d", reason="404\0", seconds=3600)
            found = known_absence(connection, "b", "debuginfo", "https://d")
            assert found is not None
            assert found.reason == "404"
            assert known_absence(connection, "b", "executable", "https://d") is None
            assert known_absence(connection, "b", "debuginfo", "https://other") is None
            connection.execute(update(symbol_absence).values(until=func.now() - timedelta(seconds=1)))
        with engine.connect() as connection:
            assert known_absence(connection, "b", "debuginfo", "https://d") is None

    def test_the_last_word_counts(self, engine: Engine):
        with engine.begin() as connection:
            note_absence(connection, "b", "debuginfo", "https://d", reason="404", seconds=3600)
            note_absence(connection, "b", "debuginfo", "https://d", reason="500", seconds=10)
            [found] = known_absences(connection, "b")
        assert found.reason == "500"

    def test_can_be_forgotten(self, engine: Engine):
        with engine.begin() as connection:
            for source in ("https://d", "https://e"):
                note_absence(connection, "b", "debuginfo", source, reason="404", seconds=3600)
            assert forget_absences(connection, "b", source="https://d") == 1
            assert [one.source for one in known_absences(connection, "b")] == ["https://e"]
            assert forget_absences(connection, "b") == 1

    def test_the_longest_names_there_are_fit_into_the_index(self, engine: Engine):
        long = "é" * 5000
        with engine.begin() as connection:
            for path in (long + "a", long + "b"):
                note_absence(
                    connection, "k" * 1024, source_kind(path), f"https://{path}", reason="", seconds=9
                )
            found = known_absences(connection, "k" * 1024, kinds=[source_kind(long + "a")])
        assert len(found) == 1
