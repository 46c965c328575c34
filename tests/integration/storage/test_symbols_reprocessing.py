"""Reprocessings: the captures that better symbols are for, each wanted once, a few at a time, with progress."""

import threading
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import Engine, func, select, update

from storage import captures, leases
from storage.schema import capture, capture_binary, reprocessing, reprocessing_capture
from storage.symbols.errors import BadKey
from storage.symbols.reprocessing import LATE, Reprocessing, begin, feed, find, latest, progress
from tests.binary_fleet import FULL, NAMELESS, Fleet

pytestmark = pytest.mark.integration

LIBC, APP = "11bc", "a99"


@pytest.fixture
def fleet(engine: Engine) -> Fleet:
    return Fleet(engine)


def begun(fleet: Fleet, key: str = LIBC, *, nameless: bool = True, renamed: int = 0) -> int:
    with fleet.engine.begin() as connection:
        return begin(connection, key, why="libc6-dbg was uploaded", nameless=nameless, renamed=renamed)


def fed(fleet: Fleet, limit: int = 1000) -> list[UUID]:
    with fleet.engine.begin() as connection:
        return feed(connection, limit=limit)


def state(fleet: Fleet, id_: int) -> Reprocessing:
    with fleet.engine.connect() as connection:
        found = find(connection, id_)
    assert found is not None
    return found


def let_late_ones_come(fleet: Fleet) -> None:
    """So much time passes that no worker can be ingestion with the symbols of before."""
    with fleet.engine.begin() as connection:
        connection.execute(update(reprocessing).values(requested_at=reprocessing.c.requested_at - 2 * LATE))
        connection.execute(update(capture).values(ingested_at=capture.c.ingested_at - 2 * LATE))


class TestWhich:
    def test_those_with_frames_that_have_no_name(self, fleet: Fleet):
        nameless = fleet.visit({LIBC: NAMELESS, APP: FULL})
        fleet.visit({LIBC: FULL, APP: NAMELESS})
        fleet.visit({APP: NAMELESS})
        id_ = begun(fleet, renamed=7)
        assert fed(fleet) == fleet.due() == [nameless]
        assert (state(fleet, id_).captures, state(fleet, id_).renamed) == (1, 7)

    def test_or_all_that_hold_it(self, fleet: Fleet):
        holding = {fleet.visit({LIBC: NAMELESS}), fleet.visit({LIBC: FULL})}
        fleet.visit({APP: FULL})
        begun(fleet, nameless=False)
        assert set(fed(fleet)) == holding

    def test_none_for_a_binary_that_never_ran(self, fleet: Fleet):
        id_ = begun(fleet, "never seen")
        let_late_ones_come(fleet)
        assert fed(fleet) == []
        assert state(fleet, id_).finished_at is not None
        with fleet.engine.begin() as connection, pytest.raises(BadKey):
            begin(connection, "", why="", nameless=True)

    def test_nothing_that_is_not_archived_any_more(self, fleet: Fleet):
        gone, kept = fleet.visit({LIBC: NAMELESS}), fleet.visit({LIBC: NAMELESS})
        with fleet.engine.begin() as connection:
            connection.execute(update(capture).where(capture.c.visit_id == gone).values(blob=""))
        assert state(fleet, begun(fleet)).captures == 1
        assert fed(fleet) == [kept]

    def test_as_the_next_generation(self, fleet: Fleet):
        visit_id = fleet.visit({LIBC: NAMELESS})
        begun(fleet)
        fed(fleet)
        with fleet.engine.begin() as connection:
            held = leases.lease(connection, visit_id, seconds=60, attempts_limit=3)
        assert held is not None
        assert (held.generation, held.again) == (2, True)


class TestPace:
    def test_a_few_at_a_time_the_newest_first(self, fleet: Fleet):
        now = datetime.now(UTC)
        ids = [fleet.visit({LIBC: NAMELESS}, at=now - timedelta(days=age)) for age in range(5)]
        begun(fleet)
        assert fed(fleet, 2) == [ids[0], ids[1]]
        assert fed(fleet, 2) == [], "two are on their way"
        fleet.ingest(ids[1])
        assert fed(fleet, 2) == [ids[2]]
        assert set(fleet.due()) == {ids[0], ids[2]}

    def test_those_quarantined_take_no_place(self, fleet: Fleet):
        ids = [fleet.visit({LIBC: NAMELESS}) for _ in range(3)]
        begun(fleet)
        [first] = fed(fleet, 1)
        with fleet.engine.begin() as connection:
            captures.quarantined(connection, first, "too new")
        [second] = fed(fleet, 1)
        assert {first, second} < set(ids)
        assert first != second

    def test_two_feed_at_once(self, fleet: Fleet):
        ids = {fleet.visit({LIBC: NAMELESS}) for _ in range(30)}
        begun(fleet)
        ready = threading.Barrier(4)
        got: list[list[UUID]] = []

        def work() -> None:
            ready.wait(30)
            got.append(fed(fleet, 20))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        wanted = [visit_id for some in got for visit_id in some]
        assert len(got) == 4
        assert len(wanted) == len(set(wanted)) == 20
        assert set(wanted) < ids

    @pytest.mark.slow
    def test_ingestions_and_feeds_never_wait_in_a_circle(self, fleet: Fleet):
        """Workers claim several captures in one transaction while both are wanted again and again."""
        ids = [fleet.visit({LIBC: NAMELESS, APP: NAMELESS}) for _ in range(12)]
        failures: list[BaseException] = []

        def ask(key: str) -> None:
            for _ in range(15):
                begun(fleet, key)
                fed(fleet)

        def ingest() -> None:
            for _ in range(30):
                with fleet.engine.begin() as connection:
                    mine = captures.due(connection, limit=6)
                    connection.execute(
                        select(capture.c.visit_id)
                        .where(capture.c.visit_id.in_([one.visit_id for one in mine]))
                        .order_by(capture.c.visit_id)
                        .with_for_update(key_share=True)
                    )
                    for one in mine[::-1]:
                        connection.execute(
                            update(capture)
                            .where(capture.c.visit_id == one.visit_id, capture.c.ingested < one.generation)
                            .values(ingested=one.generation)
                        )

        def guarded(work, *arguments) -> None:
            try:
                work(*arguments)
            except BaseException as error:  # noqa: BLE001 - whatever it is, the test is to fail with it
                failures.append(error)

        jobs = [(ask, LIBC), (ask, APP), (ingest,), (ingest,)]
        threads = [threading.Thread(target=guarded, args=job) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert failures == []
        while due := fleet.due():
            for visit_id in due:
                fleet.ingest(visit_id)
            fed(fleet)
        let_late_ones_come(fleet)
        fed(fleet)
        with fleet.engine.connect() as connection:
            assert {one.left for one in progress(connection)} == {0}
            ingested = connection.scalars(select(capture.c.ingested).where(capture.c.visit_id.in_(ids))).all()
        assert min(ingested) > 1


class TestProgress:
    def test_from_asked_to_finished(self, fleet: Fleet):
        ids = [fleet.visit({LIBC: NAMELESS}) for _ in range(3)]
        id_ = begun(fleet)
        assert (state(fleet, id_).captures, state(fleet, id_).left) == (3, 3)
        fed(fleet)
        fleet.ingest(ids[0])
        assert (state(fleet, id_).ingested, state(fleet, id_).left) == (1, 2)
        with fleet.engine.begin() as connection:
            captures.quarantined(connection, ids[1], "too new")
        assert (state(fleet, id_).failed, state(fleet, id_).left) == (1, 1)
        fleet.ingest(ids[2])
        let_late_ones_come(fleet)
        assert state(fleet, id_).finished_at is None
        fed(fleet)
        over = state(fleet, id_)
        assert over.finished_at is not None
        assert (over.captures, over.ingested, over.failed, over.left) == (3, 2, 1, 0)
        with fleet.engine.connect() as connection:
            assert connection.scalar(select(func.count()).select_from(reprocessing_capture)) == 0

    def test_a_capture_that_goes_meanwhile_is_not_waited_for(self, fleet: Fleet):
        """Retention deletes raw captures, and much later the visits."""
        expired, deleted = (fleet.visit({LIBC: NAMELESS}) for _ in range(2))
        id_ = begun(fleet)
        with fleet.engine.begin() as connection:
            connection.execute(
                update(capture)
                .where(capture.c.visit_id == expired)
                .values(blob="", ingested=capture.c.wanted)
            )
            for table in (capture_binary, capture):
                connection.execute(table.delete().where(table.c.visit_id == deleted))
        fed(fleet)
        let_late_ones_come(fleet)
        fed(fleet)
        over = state(fleet, id_)
        assert over.finished_at is not None
        assert (over.captures, over.failed) == (2, 2)

    def test_those_under_way_come_first_then_the_latest(self, fleet: Fleet):
        ids = [begun(fleet, key) for key in ("first", "second")]
        let_late_ones_come(fleet)
        fed(fleet)
        fleet.visit({LIBC: NAMELESS})
        open_ = begun(fleet)
        last = begun(fleet, "last")
        with fleet.engine.connect() as connection:
            listed = [one.reprocessing_id for one in progress(connection)]
            assert [one.reprocessing_id for one in progress(connection, limit=1)] == [last]
            assert find(connection, 10**6) is None
        assert listed == [last, open_, *ids[::-1]]

    def test_the_latest_of_each_binary(self, fleet: Fleet):
        begun(fleet, APP)
        newer = begun(fleet, APP)
        with fleet.engine.connect() as connection:
            found = latest(connection, [APP, LIBC])
        assert {key: one.reprocessing_id for key, one in found.items()} == {APP: newer}


class TestOverlaps:
    def test_one_ingestion_does_for_two_binaries(self, fleet: Fleet):
        visit_id = fleet.visit({LIBC: NAMELESS, APP: NAMELESS})
        ids = [begun(fleet), begun(fleet, APP)]
        assert fed(fleet) == [visit_id]
        assert fed(fleet) == []
        fleet.ingest(visit_id)
        assert [state(fleet, id_).left for id_ in ids] == [0, 0]

    def test_a_better_file_takes_over_what_is_left(self, fleet: Fleet):
        ids = [fleet.visit({LIBC: NAMELESS}) for _ in range(4)]
        first = begun(fleet)
        done, pending = fed(fleet, 2)
        fleet.ingest(done)
        second = begun(fleet, nameless=False)
        assert state(fleet, first).finished_at is not None
        assert (state(fleet, first).captures, state(fleet, first).ingested) == (1, 1)
        assert state(fleet, second).captures == 4
        assert set(fed(fleet)) == set(ids)
        with fleet.engine.connect() as connection:
            wanted = dict(connection.execute(select(capture.c.visit_id, capture.c.wanted)).all())
        assert wanted[pending] == 3, "a worker may have it in its hands with the symbols of before"
        assert wanted[done] == 3

    def test_names_asked_for_after_lines_do_not_make_less_of_it(self, fleet: Fleet):
        fleet.visit({LIBC: FULL})
        begun(fleet, nameless=False)
        assert state(fleet, begun(fleet, nameless=True)).captures == 1


class TestLate:
    def test_what_ingests_with_the_old_symbols_meanwhile_is_ingested_again(self, fleet: Fleet):
        """A worker had resolved its frames when the upload came, and commits after `begin` looked."""
        id_ = begun(fleet)
        visit_id = fleet.visit({LIBC: NAMELESS})
        fleet.ingest(visit_id, generation=1)
        assert fed(fleet) == []
        assert state(fleet, id_).finished_at is None, "such a one may still come"
        with fleet.engine.begin() as connection:
            connection.execute(
                update(reprocessing).values(requested_at=func.now() - LATE - timedelta(seconds=1))
            )
            connection.execute(update(capture).values(ingested_at=func.now() - LATE))
        assert fed(fleet) == [], "it is found when the rest is done"
        assert fed(fleet) == [visit_id]
        assert state(fleet, id_).captures == 1
        fleet.ingest(visit_id)
        fed(fleet)
        assert state(fleet, id_).finished_at is not None

    def test_what_ingests_later_is_none_of_its_business(self, fleet: Fleet):
        id_ = begun(fleet)
        let_late_ones_come(fleet)
        fleet.ingest(fleet.visit({LIBC: NAMELESS}), generation=1)
        fed(fleet)
        assert (state(fleet, id_).captures, fleet.due()) == (0, [])
        assert state(fleet, id_).finished_at is not None
