"""Connections to a real PostgreSQL: what they promise, and what their errors become."""

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError

from storage import migrate
from storage.database import open_engine, snapshot, translated
from storage.errors import DatabaseBusy, DatabaseRefused, DatabaseUnavailable, NotMigrated

pytestmark = pytest.mark.integration


def test_connections_speak_utc_and_say_who_they_are(engine: Engine):
    with engine.connect() as connection:
        assert connection.scalar(text("SHOW timezone")) == "UTC"
        assert connection.scalar(text("SHOW application_name")) == "fleetprof-test"
        assert connection.scalar(text("SELECT timestamptz '2026-11-21 12:00+02'")) == datetime(
            2026, 11, 21, 10, tzinfo=UTC
        )


def test_a_snapshot_sees_one_moment_and_writes_nothing(engine: Engine):
    count = text("SELECT count(*) FROM stratum")
    add = text("INSERT INTO stratum (datacenter, platform) VALUES (gen_random_uuid()::text, '')")
    with snapshot(engine) as reading:
        assert reading.scalar(count) == 0
        with engine.begin() as writing:
            writing.execute(add)
        assert reading.scalar(count) == 0
        with pytest.raises(Exception, match="read-only transaction"):
            reading.execute(add)
    with snapshot(engine) as reading:
        assert reading.scalar(count) == 1
    with engine.begin() as writing:  # the pool's connection is as it was before
        writing.execute(add)


def test_a_connection_cut_by_the_server_is_replaced(engine: Engine):
    with engine.connect() as connection:
        pid = connection.scalar(text("SELECT pg_backend_pid()"))
    killer = open_engine(engine.url.render_as_string(hide_password=False), application="killer")
    with killer.connect() as connection:
        connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
    killer.dispose()
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT pg_backend_pid()")) != pid


def test_a_connection_cut_in_use_is_an_unavailable_database(engine: Engine):
    with engine.connect() as connection:
        with pytest.raises(DatabaseUnavailable):
            connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
        connection.invalidate()
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT 1")) == 1


def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path):
    engine = open_engine(f"postgresql://u@/d?host={tmp_path}", application="test")
    with pytest.raises(DatabaseUnavailable, match="No such file"):
        engine.connect()
    with pytest.raises(DatabaseUnavailable):
        migrate.pending(f"postgresql://u@/d?host={tmp_path}")
    engine.dispose()


@pytest.mark.parametrize("change", [{"database": "nowhere"}, {"username": "nobody-we-know"}])
def test_a_server_that_does_not_let_us_in_has_refused(postgres_url: str, change):
    url = make_url(postgres_url).set(**change).render_as_string(hide_password=False)
    engine = open_engine(url, application="test")
    with pytest.raises(DatabaseRefused):
        engine.connect()
    engine.dispose()


def test_deadlocks_and_lock_timeouts_are_worth_another_try(engine: Engine):
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO stratum (datacenter, platform) VALUES ('a', ''), ('b', '')"))
    lock = text("UPDATE stratum SET platform = platform WHERE datacenter = :name")
    outcomes = []
    both_hold_one = threading.Barrier(2)

    def cross(first: str, second: str) -> None:
        with engine.connect() as connection:
            connection.execute(lock, {"name": first})
            both_hold_one.wait(30)
            try:
                connection.execute(lock, {"name": second})
                outcomes.append("done")
            except DatabaseBusy:
                outcomes.append("busy")

    threads = [threading.Thread(target=cross, args=names) for names in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(outcomes) == ["busy", "done"]
    with engine.begin() as holder:
        holder.execute(lock, {"name": "a"})
        with engine.connect() as other:
            other.execute(text("SET LOCAL lock_timeout = '10ms'"))
            with pytest.raises(DatabaseBusy):
                other.execute(lock, {"name": "a"})


def test_raw_cursors_raise_the_same_errors(engine: Engine):
    with engine.connect() as connection:
        cursor = connection.connection.cursor()
        with pytest.raises(NotMigrated, match="fleetprof db upgrade"), translated():
            cursor.execute("SELECT * FROM nowhere")
        cursor.close()


def test_our_own_mistakes_stay_what_they_are(engine: Engine):
    with engine.connect() as connection, pytest.raises(IntegrityError):
        connection.execute(text("INSERT INTO stratum (datacenter) VALUES ('x')"))
