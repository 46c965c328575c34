"""What is too old goes, in order, and nothing that somebody still needs goes with it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, Engine, Table, func, insert, select, text, update

from storage import campaigns, captures, inventory, partitions, visits
from storage.archive import Archive, capture_key
from storage.campaigns import Definition, EventPlan
from storage.captures import NewCapture
from storage.errors import ArchiveError, ArchiveUnavailable
from storage.inventory import NewMachine
from storage.retention.fact_days import drop_oldest
from storage.retention.history import kept_from
from storage.retention.raw import DroppedCaptures, drop_captures
from storage.retention.retain import HOPELESS_DAYS, Keep, Retained, retain
from storage.schema import (
    Outcome,
    capture,
    capture_binary,
    capture_cpu,
    capture_segment,
    chunk,
    coverage,
    covered_time,
    exposure,
    profile,
    rollup,
    rollup_long,
    rollup_long_built,
    rollup_queue,
    rollup_retraction,
    visit,
)
from storage.visits import DrawnVisit

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TODAY = NOON.date()


@pytest.fixture
def archived(engine: Engine, archive: Archive) -> list[UUID]:
    """Captures of five days, the oldest first."""
    ids = []
    with engine.begin() as connection:
        definition = Definition("fleet", 60, 1, (EventPlan("cpu", 5000, rate_hz=99),))
        campaign_id = campaigns.create_or_update(connection, definition).campaign_id
        machine_id = inventory.add(connection, NewMachine("m", "h:1"))
        stratum_id = inventory.stratum_ids(connection, [("", "")])["", ""]
        for age in range(4, -1, -1):
            drawn = DrawnVisit(
                uuid4(), campaign_id, 5 - age, machine_id, stratum_id, 1, 1, 1.0, NOON - timedelta(days=age)
            )
            visits.record_draw(connection, [drawn])
            key = capture_key(drawn.day, drawn.visit_id)
            archive.put(key, b"blob")
            captures.record(connection, NewCapture(drawn.visit_id, drawn.day, key, 4, 4, b"", 1))
            visits.finish(
                connection, drawn.visit_id, outcome=Outcome.ANSWERED, detail="", ended_at=NOON, seconds=5.0
            )
            connection.execute(
                capture_cpu.insert().values(
                    visit_id=drawn.visit_id,
                    cpu=0,
                    day=drawn.day,
                    user_ms=1,
                    system_ms=1,
                    idle_ms=1,
                    iowait_ms=1,
                    irq_ms=1,
                    steal_ms=1,
                )
            )
            partitions.ensure(connection, [drawn.day])
            ids.append(drawn.visit_id)
    return ids


def drop(engine: Engine, archive: Archive, limit: int = 500) -> int:
    with engine.begin() as connection:
        return drop_captures(connection, archive, TODAY - timedelta(days=1), limit=limit).captures


def kept(connection: Connection) -> set[UUID]:
    return set(connection.scalars(select(capture.c.visit_id).where(capture.c.blob != "")))


def count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def waits_for_facts(engine: Engine) -> bool:
    """Whether somebody waits to have the fact tables alone."""
    with engine.connect() as connection:
        found = connection.scalar(
            text("SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'")
        )
        return bool(found)


class TestRawCaptures:
    def test_old_ones_go_and_what_is_known_of_them_stays(
        self, engine: Engine, archive: Archive, archived: list[UUID]
    ) -> None:
        assert drop(engine, archive) == 3
        assert drop(engine, archive) == 0
        with engine.connect() as connection:
            assert kept(connection) == set(archived[3:])
            assert [count(connection, table) for table in (capture, capture_cpu, visit)] == [5, 5, 5]
        assert {key.split("/")[1] for key, _ in archive.keys()} == {"2026-11-20", "2026-11-21"}  # noqa: SIM118 - no dict

    def test_the_oldest_go_first(self, engine: Engine, archive: Archive, archived: list[UUID]) -> None:
        assert drop(engine, archive, limit=2) == 2
        with engine.connect() as connection:
            assert kept(connection) == set(archived[2:])

    def test_a_crash_after_the_blobs_is_made_good_by_the_next_call(
        self, engine: Engine, archive: Archive, archived: list[UUID]
    ) -> None:
        with engine.connect() as connection:
            drop_captures(connection, archive, TODAY - timedelta(days=1))
            connection.rollback()
        assert drop(engine, archive) == 3
        with engine.connect() as connection:
            assert kept(connection) == set(archived[3:])

    def test_what_a_worker_holds_is_left_for_the_next_call(
        self, engine: Engine, archive: Archive, archived: list[UUID]
    ) -> None:
        with engine.begin() as worker:
            worker.execute(select(capture).where(capture.c.visit_id == archived[0]).with_for_update())
            assert drop(engine, archive) == 2
        assert drop(engine, archive) == 1

    def test_one_that_never_ingested_expires_and_says_why(
        self, engine: Engine, archive: Archive, archived: list[UUID]
    ) -> None:
        never, aside, ingested = archived[:3]
        with engine.begin() as connection:
            captures.quarantined(connection, aside, "It is damaged.")
            connection.execute(update(capture).where(capture.c.visit_id == ingested).values(ingested=1))
            captures.want_again(connection, [ingested])
        with engine.begin() as connection:
            assert drop_captures(connection, archive, TODAY) == DroppedCaptures(4, never_ingested=3)
        with engine.begin() as connection:
            rows = {row.visit_id: row for row in connection.execute(select(capture))}
            assert [rows[id_].expired for id_ in (never, aside, ingested)] == [True, True, False]
            assert (rows[aside].failure, rows[aside].quarantined) == ("It is damaged.", None)
            assert [due.visit_id for due in captures.due(connection, limit=9)] == [archived[4]]
            assert captures.want_again(connection, archived) == 1, "only one is in the archive"


class TestFacts:
    def drop(self, engine: Engine, before: date = TODAY, hopeless: date = date(2026, 1, 1)) -> object:
        with engine.begin() as connection:
            return drop_oldest(connection, before, hopeless=hopeless)

    def wait(self, engine: Engine, day: date, sign: int = 1) -> int:
        """An entry of the queue."""
        with engine.begin() as connection:
            statement = insert(rollup_queue).values(day=day, visit_id=uuid4(), sign=sign)
            return int(connection.execute(statement.returning(rollup_queue.c.entry_id)).scalar_one())

    def days(self, engine: Engine) -> list[date]:
        with engine.connect() as connection:
            return partitions.existing(connection)

    @pytest.fixture
    def four_days(self, engine: Engine) -> list[date]:
        days = [TODAY - timedelta(days=n) for n in range(4, 0, -1)]
        with engine.begin() as connection:
            partitions.ensure(connection, days)
        return days

    def test_one_day_at_a_time_goes_from_the_oldest_on(self, engine: Engine, four_days: list[date]) -> None:
        assert self.days(engine) == four_days
        for n in range(1, 4):
            self.drop(engine, four_days[3])
            assert self.days(engine) == four_days[n:]
        assert self.drop(engine, four_days[3]) is None
        assert self.days(engine) == four_days[3:]

    @pytest.mark.slow
    @pytest.mark.parametrize("sign", [1, -1])
    def test_a_day_that_waits_to_be_merged_keeps_itself_and_all_later_ones(
        self, engine: Engine, four_days: list[date], sign: int
    ) -> None:
        entry = self.wait(engine, four_days[1], sign)
        keep = Keep(0, 400)
        done = retain(engine, Archive("/nowhere"), TODAY, keep)
        assert [old.day for old in done.dropped] == four_days[:1]
        assert done.kept_back is not None
        assert (done.kept_back.day, done.kept_back.waiting) == (four_days[1], 1)
        assert self.days(engine) == four_days[1:]
        with engine.begin() as connection:
            connection.execute(rollup_queue.delete().where(rollup_queue.c.entry_id == entry))
        assert [old.day for old in retain(engine, Archive("/nowhere"), TODAY, keep).dropped] == four_days[1:]

    def test_a_ingestion_under_way_is_waited_for_and_then_seen(
        self, engine: Engine, four_days: list[date]
    ) -> None:
        """What it commits while the drop waits is in the queue when the drop looks."""
        with ThreadPoolExecutor(1) as pool, engine.connect() as ingestion, ingestion.begin() as transaction:
            ingestion.execute(select(profile)).all()
            ingestion.execute(insert(chunk).values(day=four_days[0], profile_id=1, data=b""))
            ingestion.execute(insert(rollup_queue).values(day=four_days[0], visit_id=uuid4(), sign=1))
            retention = pool.submit(retain, engine, Archive("/nowhere"), TODAY, Keep(0, 400))
            while not waits_for_facts(engine) and not retention.done():
                pass
            transaction.commit()
            done = retention.result(60)
        assert done.dropped == ()
        assert done.kept_back is not None
        assert self.days(engine) == four_days

    def test_whoever_reads_the_tables_the_other_way_round_is_never_cancelled(
        self, engine: Engine, four_days: list[date], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("storage.retention.retain._PAUSE_S", 0.02)
        with ThreadPoolExecutor(1) as pool, engine.begin() as reader:
            reader.execute(select(chunk)).all()
            retention = pool.submit(retain, engine, Archive("/nowhere"), TODAY, Keep(0, 400))
            while not retention.done():
                once_more = reader.begin_nested()
                reader.execute(select(profile)).all()
                once_more.rollback()  # which gives that lock back, and leaves the other
            assert retention.result(60).busy
        assert retain(engine, Archive("/nowhere"), TODAY, Keep(0, 400)).dropped != ()

    def test_a_hopeless_day_goes_and_takes_its_entries_along(
        self, engine: Engine, four_days: list[date]
    ) -> None:
        self.wait(engine, four_days[0])
        entry = self.wait(engine, four_days[0], -1)
        later = self.wait(engine, four_days[1])
        with engine.begin() as connection:
            columns = {
                c.name: 0 for c in rollup_retraction.c if not c.nullable and c.name not in {"stacks", "data"}
            }
            connection.execute(
                insert(rollup_retraction).values(columns | {"entry_id": entry, "stacks": True, "data": b""})
            )
        done = retain(engine, Archive("/nowhere"), four_days[1] + timedelta(days=HOPELESS_DAYS), Keep(0, 400))
        assert [(old.day, old.waiting) for old in done.dropped] == [(four_days[0], 2)]
        assert done.kept_back is not None
        with engine.connect() as connection:
            assert list(connection.scalars(select(rollup_queue.c.entry_id))) == [later]
            assert count(connection, rollup_retraction) == 0


class TestHistory:
    """Cells, coverage and visits of the days of a whole bucket go together."""

    KEEP = Keep(35, 400)

    def fill(self, engine: Engine, archived: list[UUID], days: list[date]) -> None:
        """A cell, coverage, exposure and a bucket of each level for every day."""
        key = {"cube": 1, "campaign_id": 1, "stacks": True, "sample_type_id": 1, "k1": 0, "k2": 0}
        sums = {"facts": 0, "profiles": 0, "visits": 0, "samples": 0, "total": 0, "data": b""}
        with engine.begin() as connection:
            connection.execute(coverage.delete())
            for day in days:
                number = (day - date(1970, 1, 1)).days
                place = {
                    "campaign_id": 1,
                    "stratum_id": 1,
                    "utilisation_class": -1,
                    "hour": number * 24,
                    "day": day,
                }
                connection.execute(
                    insert(coverage).values(
                        place | {"population": 1, "drawn": 1, "answered": 1, "failed": 0, "seconds": 5}
                    )
                )
                connection.execute(
                    insert(exposure).values(
                        place | {"sample_type_id": 1, "stacks": True, "visits": 1, "seconds": 5}
                    )
                )
                for level, bucket in ((0, number), (-1, number * 24)):
                    cell = {"level": level, "bucket": bucket, "stratum_id": 1, "utilisation_class": -1}
                    connection.execute(insert(rollup).values(key | sums | cell))
                for level in (1, 2, 3):
                    if number % 4**level == 0:
                        merged = {"level": level, "bucket": number // 4**level}
                        more = {"weighted_total": 0, "weighted": b""}
                        connection.execute(insert(rollup_long).values(key | sums | merged | more))
                        built = {
                            "cube": 1,
                            "campaign_id": 1,
                            "stacks": True,
                            "sample_type_id": 1,
                            "made_of": 0,
                        }
                        connection.execute(
                            insert(rollup_long_built).values(merged | built | {"merged": True})
                        )

    def counts(self, engine: Engine) -> list[int]:
        with engine.connect() as connection:
            return [
                count(connection, table)
                for table in (coverage, exposure, rollup, rollup_long, rollup_long_built)
            ]

    def test_cells_of_a_bucket_go_with_their_coverage_and_not_before(
        self, engine: Engine, archived: list[UUID], archive: Archive
    ) -> None:
        first = kept_from(TODAY)
        self.fill(engine, archived, [first + timedelta(days=n) for n in range(128)])
        before = self.counts(engine)
        assert before == [128, 128, 256, 32 + 8 + 2, 32 + 8 + 2]
        on = first + timedelta(days=64 + 400)
        assert retain(engine, archive, on - timedelta(days=1), self.KEEP).cells == 0
        assert self.counts(engine) == before
        assert retain(engine, archive, on, self.KEEP).cells == sum(before) // 2
        assert self.counts(engine) == [n // 2 for n in before]
        assert retain(engine, archive, on + timedelta(days=64), self.KEEP).cells == sum(before) // 2
        assert self.counts(engine) == [0] * 5

    def test_the_time_of_rounds_goes_with_their_coverage(
        self, engine: Engine, archived: list[UUID], archive: Archive
    ) -> None:
        first = kept_from(TODAY)
        self.fill(engine, archived, [first + timedelta(days=n) for n in range(128)])
        midnight = datetime(first.year, first.month, first.day, tzinfo=UTC)
        runs = ((0, 2), (3, 64), (63, 65), (100, 101))
        with engine.begin() as connection:
            for begins, ends in runs:
                moments = {
                    "begins": midnight + timedelta(days=begins),
                    "ends": midnight + timedelta(days=ends),
                }
                connection.execute(insert(covered_time).values(campaign_id=1, **moments))
        assert retain(engine, archive, first + timedelta(days=64 + 400), self.KEEP).cells > 0
        with engine.connect() as connection:
            left = connection.scalars(select(covered_time.c.ends).order_by(covered_time.c.ends)).all()
        assert [(ends - midnight).days for ends in left] == [65, 101]

    def test_a_day_of_facts_kept_back_keeps_its_bucket(
        self, engine: Engine, archived: list[UUID], archive: Archive
    ) -> None:
        """Its visits are yet to be merged into these cells, and weighed by this coverage."""
        bucket = kept_from(TODAY)
        kept_back = bucket + timedelta(days=63)
        self.fill(engine, archived, [bucket + timedelta(days=n) for n in range(-64, 64)])
        with engine.begin() as connection:
            partitions.ensure(connection, [kept_back])
            statement = insert(rollup_queue).values(day=kept_back, visit_id=uuid4(), sign=1)
            entry = connection.execute(statement.returning(rollup_queue.c.entry_id)).scalar_one()
        on = bucket + timedelta(days=66)
        keep = Keep(0, 0)
        assert keep.cells_horizon(on) == bucket + timedelta(days=64)
        before = self.counts(engine)
        done = retain(engine, archive, on, keep)
        assert (done.kept_back is not None, done.cells_horizon) == (True, bucket)
        assert done.cells == sum(before) // 2, "only what is older than the bucket"
        assert done.visits == 0
        with engine.begin() as connection:
            connection.execute(rollup_queue.delete().where(rollup_queue.c.entry_id == entry))
        assert retain(engine, archive, on, keep).cells == sum(before) // 2
        assert self.counts(engine) == [0] * 5

    def test_visits_go_with_all_they_brought(
        self, engine: Engine, archive: Archive, archived: list[UUID]
    ) -> None:
        done = retain(engine, archive, TODAY + timedelta(days=465), self.KEEP)
        assert isinstance(done, Retained)
        assert (done.raw.captures, done.visits) == (5, 5)
        with engine.connect() as connection:
            for table in (visit, capture, capture_cpu, capture_segment, capture_binary, coverage):
                assert count(connection, table) == 0
        assert list(archive.keys()) == []

    def test_a_visit_whose_raw_capture_cannot_be_deleted_stays(
        self, engine: Engine, archive: Archive, archived: list[UUID], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away(self: Archive, key: str) -> None:
            raise ArchiveUnavailable(key)

        with monkeypatch.context() as broken:
            broken.setattr(Archive, "delete", away)
            with pytest.raises(ArchiveError):
                retain(engine, archive, TODAY + timedelta(days=465), self.KEEP)
        with engine.connect() as connection:
            assert count(connection, visit) == 5
        assert retain(engine, archive, TODAY + timedelta(days=465), self.KEEP).visits == 5

    def test_nothing_more_is_begun_once_it_is_to_stop(
        self, engine: Engine, archive: Archive, archived: list[UUID]
    ) -> None:
        done = retain(engine, archive, TODAY + timedelta(days=465), self.KEEP, stopping=lambda: True)
        assert done == Retained(done.facts_horizon, done.cells_horizon)

    def test_cells_never_go_before_facts(self) -> None:
        keep = Keep(facts_days=500, cells_days=10)
        assert keep.cells_horizon(TODAY) <= keep.facts_horizon(TODAY)
