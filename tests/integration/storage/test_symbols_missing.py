"""What has no names: ranked by the fleet's time it hides, with an honest interval, fast for many binaries."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, event, insert, update

from storage.archive import Archive
from storage.database import snapshot
from storage.schema import binary, coverage
from storage.symbols import builds, candidates, reprocessing
from storage.symbols.candidates import UPLOAD, Candidate
from storage.symbols.kinds import FileKind, Quality
from storage.symbols.missing_symbols import (
    BinarySymbols,
    Order,
    SymbolsPage,
    Which,
    read_binary,
    read_symbols,
)
from tests.binary_fleet import FULL, PERIOD, Fleet

pytestmark = pytest.mark.integration

HOUR = timedelta(hours=1)


@pytest.fixture
def fleet(engine: Engine) -> Fleet:
    return Fleet(engine, machines=4)


def listed(fleet: Fleet, **how) -> SymbolsPage:
    now = datetime.now(UTC)
    with snapshot(fleet.engine) as connection:
        return read_symbols(connection, now - HOUR, now + HOUR, **how)


def one(fleet: Fleet, key: str) -> BinarySymbols | None:
    now = datetime.now(UTC)
    with snapshot(fleet.engine) as connection:
        return read_binary(connection, key, now - HOUR, now + HOUR)


def keys(page: SymbolsPage) -> list[str]:
    return [row.binary_key for row in page.rows]


class TestNumbers:
    def test_are_what_the_captures_hold(self, fleet: Fleet):
        fleet.visit({"aa": (600, 200), "bb": FULL}, machine=0)
        fleet.visit({"aa": (500, 100)}, machine=1)
        fleet.visit({"aa": (400, 0)}, machine=2)
        fleet.visit({"aa": (999, 999)}, at=datetime.now(UTC) - timedelta(days=2))
        page = listed(fleet)
        [row] = page.rows
        assert (row.binary_key, row.name, row.path) == ("aa", "aa.so", "/usr/lib/aa.so")
        assert (row.samples, row.unresolved, row.captures, row.machines) == (1500, 300, 3, 2)
        assert row.cpu_s == pytest.approx(1500 * PERIOD / 1e9)
        assert row.unresolved_cpu_s == pytest.approx(300 * PERIOD / 1e9)
        assert page.total == 1

    def test_speak_for_the_whole_fleet(self, fleet: Fleet):
        """Each of 4 machines is visited: the share is that of all samples, and time is scaled to all of it."""
        for number in range(4):
            fleet.visit({"aa": (600, 250 * (number % 2))}, machine=number, samples=1000)
        page = listed(fleet)
        [row] = page.rows
        assert row.estimated is not None
        assert row.estimated.share.value == pytest.approx(500 / 4000)
        assert row.estimated.share.lo < 500 / 4000 < row.estimated.share.hi
        seen_s = 500 * PERIOD / 1e9
        scale = 4 * page.estimated_s / (4 * 5.0)
        assert row.estimated.units.value == pytest.approx(seen_s * scale, rel=1e-6)

    def test_speak_of_days_that_ingested(self, fleet: Fleet):
        """Captures of the second day wait: cores are core-seconds over the seconds of the first."""
        noon = datetime(2026, 11, 10, 12, tzinfo=UTC)
        for number in range(4):
            fleet.visit({"aa": (600, 250)}, machine=number, at=noon)
            fleet.visit({"aa": (600, 250)}, machine=number, at=noon + timedelta(days=1), ingested=False)
        with snapshot(fleet.engine) as connection:
            alone, both = (read_symbols(connection, noon, noon + timedelta(days=n)) for n in (1, 2))
        assert both.rows[0].estimated == alone.rows[0].estimated
        assert both.rows[0].estimated_s == both.estimated_s == alone.estimated_s == HOUR.total_seconds()

    def test_without_a_random_design_there_is_no_estimate(self, fleet: Fleet):
        fleet.visit({"aa": (600, 200)})
        with fleet.engine.begin() as connection:
            connection.execute(coverage.delete())
        [row] = listed(fleet).rows
        assert row.estimated is None
        assert row.unresolved == 200

    def test_an_empty_store_lists_nothing(self, fleet: Fleet):
        page = listed(fleet, which=Which.ALL)
        assert (page.rows, page.total) == ((), 0)


class TestList:
    def test_orders(self, fleet: Fleet):
        fleet.visit({"aa": (900, 10), "bb": (500, 300), "cc": FULL}, machine=0)
        fleet.visit({"aa": (900, 10), "cc": FULL}, machine=1)
        assert keys(listed(fleet)) == ["bb", "aa"]
        assert keys(listed(fleet, order=Order.UNRESOLVED)) == ["bb", "aa"]
        assert keys(listed(fleet, order=Order.SAMPLES)) == ["aa", "bb"]
        assert keys(listed(fleet, order=Order.MACHINES)) == ["aa", "bb"]
        assert keys(listed(fleet, order=Order.NAME, which=Which.ALL)) == ["aa", "bb", "cc"]
        with fleet.engine.begin() as connection:
            old = binary.c.first_seen - HOUR
            connection.execute(update(binary).where(binary.c.key == "aa").values(first_seen=old))
        assert keys(listed(fleet, order=Order.SEEN, which=Which.ALL))[-1] == "aa"

    def test_pages_and_matches(self, fleet: Fleet):
        fleet.visit({f"b{n}": (100, 50 - n) for n in range(5)})
        first, second = listed(fleet, limit=2), listed(fleet, limit=2, offset=2)
        assert (keys(first), keys(second)) == (["b0", "b1"], ["b2", "b3"])
        assert first.total == second.total == 5
        assert keys(listed(fleet, matching="LIB/B3")) == ["b3"]
        assert keys(listed(fleet, matching="no such")) == []

    def test_has_everything_that_is_known(self, fleet: Fleet, archive: Archive, tmp_path: Path):
        fleet.visit({"aa": (600, 200), "bb": FULL})
        (tmp_path / "file").write_bytes(b"file")
        for key in ("aa", "early"):
            candidate = Candidate(
                key, FileKind.DEBUGINFO, Quality.DWARF, tmp_path / "file", UPLOAD, name=f"{key}.debug"
            )
            sha256 = candidates.add(fleet.engine, archive, candidate).file.sha256
        with fleet.engine.begin() as connection:
            lease = builds.claim_build(connection, "aa", "p", 60, source=sha256)
            assert lease is not None
            reprocessing.begin(connection, "aa", why="upload", nameless=True)
        page = listed(fleet, which=Which.ALL)
        assert keys(page) == ["aa", "bb", "early"]
        row, _, early = page.rows
        assert [file.name for file in row.files] == ["aa.debug"]
        assert [build.building for build in row.builds] == [True]
        assert row.reprocessing is not None
        assert row.reprocessing.left == 1
        assert (early.name, early.kind, early.samples) == ("early.debug", "", 0)
        for listed_row in (row, early):
            alone = one(fleet, listed_row.binary_key)
            assert alone is not None
            timeless = {"estimated": None, "estimated_s": 0.0}  # time passes between the two
            assert replace(alone, **timeless) == replace(listed_row, **timeless)
        assert one(fleet, "unheard of") is None

    @pytest.mark.slow
    def test_ten_thousand_binaries(self, fleet: Fleet):
        """In one page: no query for each row."""
        with fleet.engine.begin() as connection:
            rows = [
                {"key": f"k{n:05}", "name": f"lib{n}.so", "path": f"/usr/lib/lib{n}.so", "kind": "file"}
                for n in range(10_000)
            ]
            connection.execute(insert(binary), rows)
        fleet.visit({f"k{n:05}": (100, n) for n in range(0, 10_000, 7)})
        statements = []

        def counting(_connection, _cursor, statement, *_) -> None:
            statements.append(statement)

        event.listen(fleet.engine, "before_cursor_execute", counting)
        page = listed(fleet, which=Which.ALL, limit=100)
        assert page.total == 10_000
        assert keys(page)[0] == "k09996"
        assert len(statements) < 30
