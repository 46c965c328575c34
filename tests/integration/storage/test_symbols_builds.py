"""Builds: one at a time in the whole fleet, none lost, none forever; and what was built is found."""

import threading
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select, update

from storage.archive import Archive
from storage.schema import symcache
from storage.symbols import builds, caches, candidates, symbol_blobs
from storage.symbols.builds import ATTEMPTS_LIMIT, DIED, BuildLease, claim_build
from storage.symbols.caches import Cache, Standing
from storage.symbols.candidates import UPLOAD, Candidate
from storage.symbols.kinds import FileKind, Quality

pytestmark = pytest.mark.integration

KEY = "4114a87d"
PRODUCER = "symbolic-13.9/v9"
ONE, OTHER = b"1" * 32, b"2" * 32
"""Names of debug files."""


class Fleet:
    """Workers on one store."""

    def __init__(self, engine: Engine, archive: Archive, folder: Path) -> None:
        self.engine, self.archive, self.folder = engine, archive, folder

    def claim(self, source: bytes | None = ONE, *, producer: str = PRODUCER) -> BuildLease | None:
        with self.engine.begin() as connection:
            return claim_build(connection, KEY, producer, 60, source=source)

    def claimed(self, source: bytes | None = ONE, *, producer: str = PRODUCER) -> BuildLease:
        lease = self.claim(source, producer=producer)
        assert lease is not None
        return lease

    def finish(
        self, lease: BuildLease, content: bytes = b"built", *, made_of: tuple[bytes, ...] = ()
    ) -> Cache | None:
        path = self.folder / "built"
        path.write_bytes(content)
        return builds.finish(
            self.engine, self.archive, lease, path, made_of=made_of, cpu_s=1.5, peak_rss_bytes=1 << 30
        )

    def fail(self, lease: BuildLease, why: str = "corrupt DWARF", rest_s: float = 3600) -> bool:
        with self.engine.begin() as connection:
            return builds.fail(connection, lease, why, rest_s=rest_s)

    def renew(self, lease: BuildLease) -> bool:
        with self.engine.begin() as connection:
            return builds.renew(connection, lease, seconds=3600)

    def let_time_pass(self) -> None:
        """Leases run out and rests are over."""
        past = func.now() - timedelta(seconds=1)
        with self.engine.begin() as connection:
            connection.execute(update(symcache).values(leased_until=past, failed_until=past))

    def upload(self, content: bytes) -> bytes:
        path = self.folder / "uploaded"
        path.write_bytes(content)
        candidate = Candidate(KEY, FileKind.DEBUGINFO, Quality.DWARF, path, UPLOAD)
        return candidates.add(self.engine, self.archive, candidate).file.sha256

    def standing(self) -> Standing:
        cache = self.cache()
        assert cache is not None
        with self.engine.connect() as connection:
            return caches.standing(connection, cache)

    def state(self) -> caches.BuildState:
        with self.engine.connect() as connection:
            [state] = caches.states(connection, KEY)
        return state

    def cache(self, producer: str = PRODUCER) -> Cache | None:
        with self.engine.connect() as connection:
            return caches.find(connection, KEY, producer)


@pytest.fixture
def fleet(engine: Engine, archive: Archive, tmp_path: Path) -> Fleet:
    return Fleet(engine, archive, tmp_path)


class TestSingleFlight:
    def test_one_builds_and_all_find_it(self, fleet: Fleet, tmp_path: Path):
        lease = fleet.claimed()
        assert lease.attempt == 1
        assert fleet.claim() is None
        assert fleet.state().building
        assert fleet.cache() is None
        cache = fleet.finish(lease)
        assert cache == fleet.cache()
        assert cache is not None
        assert (cache.source_sha256, cache.build_cpu_s, cache.peak_rss_bytes) == (ONE, 1.5, 1 << 30)
        assert not fleet.state().building
        assert fleet.claim() is None, "it is built"
        assert fleet.claim(None) is None
        caches.fetch(fleet.archive, cache, tmp_path / "local")
        assert (tmp_path / "local").read_bytes() == b"built"

    def test_of_many_that_want_it_at_once_one_gets_it(self, fleet: Fleet):
        ready = threading.Barrier(8)
        got: list[BuildLease | None] = []

        def want() -> None:
            ready.wait(30)
            got.append(fleet.claim())

        threads = [threading.Thread(target=want) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(got) == 8
        assert len([lease for lease in got if lease is not None]) == 1

    def test_producers_build_beside_each_other(self, fleet: Fleet):
        fleet.finish(fleet.claimed(), b"old format")
        newer = fleet.claimed(producer="symbolic-14/v10")
        assert fleet.cache("symbolic-14/v10") is None
        assert fleet.cache() is not None, "it serves those that are not upgraded"
        fleet.finish(newer, b"new format")
        with fleet.engine.connect() as connection:
            found = [state.producer for state in caches.states(connection, KEY)]
            assert caches.find_many(connection, [KEY, "none"], "symbolic-14/v10").keys() == {KEY}
        assert found == ["symbolic-14/v10", PRODUCER]

    def test_a_better_file_is_built_while_the_old_cache_serves(self, fleet: Fleet):
        fleet.finish(fleet.claimed(ONE), b"from symbols")
        lease = fleet.claimed(OTHER)
        assert fleet.cache().source_sha256 == ONE
        fleet.finish(lease, b"from DWARF")
        assert fleet.cache().source_sha256 == OTHER
        assert fleet.claim(OTHER) is None

    def test_a_failed_build_of_a_better_file_leaves_the_old_cache(self, fleet: Fleet):
        fleet.finish(fleet.claimed(ONE))
        assert fleet.fail(fleet.claimed(OTHER))
        assert fleet.cache().source_sha256 == ONE
        assert fleet.claim(OTHER) is None
        assert fleet.claim(ONE) is None, "the cache is of it"

    def test_a_file_that_comes_during_a_build_is_not_in_it(self, fleet: Fleet):
        lease = fleet.claimed(fleet.upload(b"first"))
        better = fleet.upload(b"better")
        fleet.finish(lease)
        assert fleet.standing() is Standing.SUPERSEDED
        fleet.finish(fleet.claimed(better))
        assert fleet.standing() is Standing.CURRENT

    @pytest.mark.slow
    @pytest.mark.parametrize("how", ["rejected", "removed"])
    def test_no_file_that_is_not_to_be_used_names_through_a_cache(self, fleet: Fleet, how: str):
        debug, other = fleet.upload(b"debug"), fleet.upload(b"executable")
        fleet.finish(fleet.claimed(debug), made_of=(debug, other))
        assert fleet.standing() is Standing.CURRENT
        with fleet.engine.begin() as connection:
            assert caches.made_of(connection, other) == {KEY}
            if how == "rejected":
                candidates.reject(connection, KEY, other, "It is of another build.")
            else:
                candidates.remove(connection, KEY, other)
        assert fleet.standing() is Standing.REJECTED
        fleet.finish(fleet.claimed(debug), made_of=(debug,))  # may be built without it
        assert fleet.standing() is Standing.CURRENT

    def test_a_build_given_back_is_as_if_it_had_not_begun(self, fleet: Fleet):
        with fleet.engine.begin() as connection:
            assert builds.release(connection, claim_build(connection, KEY, PRODUCER, 60))
        assert fleet.claimed().attempt == 1


class TestDeaths:
    def test_another_takes_over_when_a_lease_runs_out(self, fleet: Fleet):
        first = fleet.claimed()
        fleet.let_time_pass()
        assert not fleet.renew(first), "it ran out"
        second = fleet.claimed()
        assert second.attempt == 2
        assert fleet.renew(second)
        assert fleet.finish(first, b"late") is None
        assert not fleet.fail(first)
        assert fleet.cache() is None
        assert fleet.state().building
        assert fleet.finish(second) is not None

    def test_a_late_one_whose_lease_nobody_took_may_finish(self, fleet: Fleet):
        lease = fleet.claimed()
        fleet.let_time_pass()
        assert fleet.finish(lease) is not None

    def test_a_file_that_kills_its_workers_comes_to_an_end(self, fleet: Fleet):
        for attempt in range(1, ATTEMPTS_LIMIT + 1):
            assert fleet.claimed().attempt == attempt
            fleet.let_time_pass()
        assert fleet.claim() is None
        assert (fleet.state().failure, fleet.state().building) == (DIED, False)
        assert fleet.claim() is None, "it rests"
        assert fleet.claimed(OTHER).attempt == 1, "another file is another matter"

    def test_after_its_rest_it_is_tried_again(self, fleet: Fleet):
        fleet.fail(fleet.claimed(), "too large for now")
        assert fleet.state().failure == "too large for now"
        assert fleet.claim() is None
        fleet.let_time_pass()
        assert fleet.claimed().attempt == 1
        assert fleet.state().failure == "too large for now", "until it is known better"

    def test_an_end_forgets_the_failure(self, fleet: Fleet):
        fleet.fail(fleet.claimed(), rest_s=0)
        fleet.let_time_pass()
        fleet.finish(fleet.claimed())
        assert (fleet.state().failure, fleet.state().failed_until) == ("", None)

    def test_without_a_name_any_failure_counts(self, fleet: Fleet):
        fleet.fail(fleet.claimed(None))
        assert fleet.claim(None) is None
        assert fleet.claim(ONE) is not None


class TestDamage:
    def test_a_damaged_cache_is_built_again(self, fleet: Fleet):
        cache = fleet.finish(fleet.claimed())
        assert cache is not None
        fleet.archive.put(symbol_blobs.key_of(cache.sha256), b"damaged")
        with fleet.engine.begin() as connection:
            assert caches.discard(connection, cache)
            assert not caches.discard(connection, cache)
        fleet.archive.delete(symbol_blobs.key_of(cache.sha256))
        again = fleet.finish(fleet.claimed())
        assert again is not None
        with fleet.engine.begin() as connection:
            assert not caches.discard(connection, cache), "that was an older one"
        assert symbol_blobs.read_bytes(fleet.archive, again.sha256, limit=again.raw_bytes) == b"built"

    def test_use_is_noted(self, fleet: Fleet):
        cache = fleet.finish(fleet.claimed())
        with fleet.engine.begin() as connection:
            connection.execute(update(symcache).values(used_at=None))
            caches.touch(connection, cache)
            assert connection.scalar(select(symcache.c.used_at)) is not None
