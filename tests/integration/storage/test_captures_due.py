"""Captures that are due: which of them go first, and how they are found."""

from datetime import timedelta

import pytest
from sqlalchemy import event, text, update

from storage import captures, leases
from storage.schema import capture
from tests.integration.storage.recorded import NOON, archived, due, ingest, lease

pytestmark = pytest.mark.integration


class TestDue:
    def test_longest_waiting_first_and_no_more_than_asked(self, engine):
        ids = archived(engine, 3)
        with engine.begin() as connection:
            for age, visit_id in enumerate(ids):
                connection.execute(
                    update(capture)
                    .where(capture.c.visit_id == visit_id)
                    .values(archived_at=NOON - timedelta(hours=age))
                )
        assert [visit_id for visit_id, _ in due(engine)] == ids[::-1]
        with engine.connect() as connection:
            assert [due.visit_id for due in captures.due(connection, limit=2)] == [ids[2], ids[1]]

    def test_lists_fresh_ones_first_and_what_is_ingested_again_after_them(self, engine):
        old, *fresh = archived(engine, 3)
        with engine.begin() as connection:
            connection.execute(
                update(capture)
                .where(capture.c.visit_id == old)
                .values(ingested=1, archived_at=NOON - timedelta(days=1))
            )
            captures.want_again(connection, [old])
        with engine.connect() as connection:
            found = captures.due(connection, limit=9)
            assert len(captures.due(connection, limit=2)) == 2
        assert [(due.visit_id, due.again) for due in found] == [*((id_, False) for id_ in fresh), (old, True)]

    def test_what_is_ingested_again_has_a_share_however_many_fresh_ones_wait(self, engine):
        ids = archived(engine, 40)
        for visit_id in ids[:10]:
            ingest(engine, visit_id, 1)
        with engine.begin() as connection:
            captures.want_again(connection, ids[:10])
            listed = [due.again for due in captures.due(connection, limit=32)]
            assert listed == [False] * 30 + [True] * 2
            assert [due.again for due in captures.due(connection, limit=35)] == [False] * 30 + [True] * 5

    def test_a_full_batch_of_fresh_ones_takes_one_that_is_ingested_again_along(self, engine):
        ids = archived(engine, 14)
        for visit_id in ids[:3]:
            ingest(engine, visit_id, 1)
        with engine.begin() as connection:
            captures.want_again(connection, ids[:3])
        first = lease(engine, ids[3])
        assert first is not None
        with engine.begin() as connection:
            batch = leases.lease_waiting(connection, first, seconds=60, limit=4, raw_bytes=10**9)
            assert sorted(one.again for one in batch) == [False, False, False, True]
            assert {one.visit_id for one in batch if one.again} <= set(ids[:3])
        with engine.begin() as connection:  # seven are left: not a full batch, so all of it is fresh
            rest = leases.lease_waiting(connection, first, seconds=60, limit=4, raw_bytes=10**9)
            assert [one.again for one in rest] == [False] * 3

    def test_one_that_is_ingested_again_takes_the_youngest_ones_place(self, engine):
        *fresh, again = archived(engine, 10)
        ingest(engine, again, 1)
        with engine.begin() as connection:
            captures.want_again(connection, [again])
        first = lease(engine, fresh.pop(0))
        assert first is not None
        with engine.begin() as connection:
            batch = leases.lease_waiting(connection, first, seconds=60, limit=4, raw_bytes=10**9)
        assert {one.visit_id for one in batch} == {*fresh[:3], again}

    def test_one_that_is_too_large_for_a_batch_does_not_keep_the_others_out(self, engine):
        head, large, *others = archived(engine, 6)
        with engine.begin() as connection:
            connection.execute(update(capture).where(capture.c.visit_id == large).values(raw_bytes=2000))
        first = lease(engine, head)
        assert first is not None
        with engine.begin() as connection:
            batch = leases.lease_waiting(connection, first, seconds=60, limit=4, raw_bytes=1000)
        assert [one.visit_id for one in batch] == others[:1]

    @pytest.mark.parametrize("again", [False, True])
    def test_a_batch_is_found_by_its_partition(self, engine, again):
        first, *_ = ids = archived(engine, 3)
        for visit_id in ids if again else []:
            ingest(engine, visit_id, 1)
        with engine.begin() as connection:
            captures.want_again(connection, ids)
        held = lease(engine, first)
        assert held is not None
        plans = []

        def explained(cursor, statement, parameters, **_):
            if statement.startswith("SELECT capture.visit_id"):
                cursor.execute(f"EXPLAIN {statement}", parameters)
                plans.append("\n".join(row[0] for row in cursor.fetchall()))

        with engine.begin() as connection:
            connection.execute(text("SET LOCAL enable_seqscan = off"))
            connection.execute(text("SET LOCAL enable_sort = off"))
            event.listen(connection, "before_cursor_execute", explained, named=True)
            leases.lease_waiting(connection, held, seconds=60, limit=4, raw_bytes=10**9)
        kind = "again" if again else "fresh"
        assert f"ix_capture_{kind}_partition" in plans[0]
        assert "Index Cond: (partition" in plans[0]

    @pytest.mark.parametrize("again", [False, True])
    def test_is_answered_from_the_indexes_of_what_is_due(self, engine, again):
        archived(engine)
        plans = []

        def explained(cursor, statement, parameters, **_):
            if statement.startswith("SELECT capture.visit_id"):
                cursor.execute(f"EXPLAIN {statement}", parameters)
                plans.append("\n".join(row[0] for row in cursor.fetchall()))

        with engine.connect() as connection:
            connection.execute(text("SET LOCAL enable_seqscan = off"))
            event.listen(connection, "before_cursor_execute", explained, named=True)
            captures.due(connection, limit=9)
        assert ("ix_capture_again" if again else "ix_capture_fresh") in plans[again]
