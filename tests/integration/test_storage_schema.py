"""The migrations and the partitions, on a real PostgreSQL."""

from datetime import date, timedelta

import pytest
from sqlalchemy import Engine, inspect, text

from storage import migrate, partitions
from storage.errors import DatabaseBusy, DatabaseRefused, NotMigrated, PartitionMissing
from storage.schema import PARTITIONED, chunk, metadata

pytestmark = pytest.mark.integration
REVISIONS = [f"{number:04}" for number in range(1, 18)]

DAY = date(2026, 11, 21)


def test_a_migrated_database_equals_the_schema_also_with_live_partitions(engine: Engine):
    with engine.begin() as connection:
        partitions.ensure(connection, [DAY, DAY + timedelta(days=1)])
    with engine.connect() as connection:
        assert migrate.differences(connection) == []


def test_a_difference_would_be_seen(engine: Engine):
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE machine DROP COLUMN cluster"))
        connection.execute(text("DROP INDEX ix_visit_open"))
        connection.execute(text("CREATE TABLE stranger (x int)"))
        assert {change[0] for change in migrate.differences(connection)} == {
            "add_column",
            "add_index",
            "remove_table",
        }


def test_compressed_bytes_are_stored_as_they_are_in_every_partition(engine: Engine):
    with engine.begin() as connection:
        partitions.ensure(connection, [DAY])
        storage = connection.execute(
            text(
                "SELECT c.relname, a.attstorage FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
                " WHERE a.atttypid = 'bytea'::regtype AND c.relname ~ '^(line_)?chunk|^roll' AND c.relkind IN ('r', 'p')"
            )
        ).all()
    assert {row.relname for row in storage} >= {
        "chunk",
        "chunk_20261121",
        "line_chunk_20261121",
        "rollup",
    }
    assert {row.attstorage for row in storage} == {"e"}


def test_upgrade_applies_what_is_pending_once(postgres_url, database_template, engine: Engine):
    url = engine.url.render_as_string(hide_password=False)
    assert migrate.pending(url) == []
    assert migrate.upgrade(url) == []
    with engine.connect() as connection:
        migrate.require_current(connection)


def test_an_empty_database_says_what_to_run(engine: Engine):
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    url = engine.url.render_as_string(hide_password=False)
    assert migrate.pending(url) == REVISIONS
    with engine.connect() as connection:
        with pytest.raises(NotMigrated, match="fleetprof db upgrade"):
            migrate.require_current(connection)
        with pytest.raises(NotMigrated, match="fleetprof db upgrade"):
            connection.execute(text("SELECT * FROM machine"))
    assert migrate.upgrade(url) == REVISIONS
    with engine.connect() as connection:
        assert set(inspect(connection).get_table_names()) >= set(metadata.tables)


def test_a_newer_database_is_refused(engine: Engine):
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with engine.connect() as connection, pytest.raises(NotMigrated, match="newer"):
        migrate.missing(connection)


def test_a_database_of_another_program_is_left_alone(engine: Engine):
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
        connection.execute(text("CREATE TABLE users (id int)"))
    with pytest.raises(DatabaseRefused, match="users"):
        migrate.upgrade(engine.url.render_as_string(hide_password=False))
    assert inspect(engine).get_table_names() == ["users"]


def test_partitions_are_made_once_and_dropped_whole(engine: Engine):
    days = [DAY + timedelta(days=n) for n in range(4)]
    for _ in range(2):
        with engine.begin() as connection:
            partitions.ensure(connection, days)
            assert partitions.existing(connection) == days
    with engine.begin() as connection:
        assert partitions.drop(connection, before=days[2]) == days[:2]
        assert partitions.existing(connection) == days[2:]
        with pytest.raises(PartitionMissing):
            connection.execute(chunk.insert().values(day=days[0], profile_id=1, data=b""))


def test_dropping_gives_way_to_readers(engine: Engine):
    with engine.begin() as connection:
        partitions.ensure(connection, [DAY])
    with engine.connect() as reader:
        reader.execute(chunk.select()).all()
        with engine.connect() as dropper:
            with pytest.raises(DatabaseBusy):
                partitions.drop(dropper, before=DAY + timedelta(days=1))
            dropper.rollback()
    with engine.begin() as connection:
        assert partitions.drop(connection, before=DAY + timedelta(days=1)) == [DAY]


def test_ingestion_goes_on_while_partitions_are_made(engine: Engine):
    with engine.begin() as connection:
        partitions.ensure(connection, [DAY])
    with engine.begin() as writer:
        writer.execute(chunk.insert().values(day=DAY, profile_id=1, data=b""))
        with engine.begin() as maker:
            maker.execute(text("SET LOCAL lock_timeout = '2s'"))
            partitions.ensure(maker, [DAY + timedelta(days=1)])


def test_every_partitioned_table_is_known(engine: Engine):
    with engine.connect() as connection:
        names = connection.execute(text("SELECT relname FROM pg_class WHERE relkind = 'p'")).scalars()
        assert set(names) == {table.name for table in PARTITIONED}
