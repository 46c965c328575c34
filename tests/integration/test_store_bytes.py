"""GIVEN a loaded store WHEN its bytes are listed by table THEN they are all that the database has grown by."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, text

from benchmarks.store.bulk import Loader
from benchmarks.store.calendar import latest
from benchmarks.store.database import bytes_by_table, growth
from benchmarks.store.load_phase import rollup
from benchmarks.store.synthetic_store import make
from storage.rollup.compact import compact

pytestmark = pytest.mark.integration

ANOTHER = """
    CREATE SCHEMA another;
    CREATE TABLE another.kept (id int PRIMARY KEY, data text);
    INSERT INTO another.kept SELECT n, repeat(md5(n::text), 100) FROM generate_series(1, 5000) n;
"""


@pytest.mark.slow
def test_every_table_index_and_toast_is_listed(database_url: str, engine: Engine) -> None:
    def looked() -> tuple[int, dict[str, int]]:
        with engine.connect() as connection:
            whole: int = connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one()
            return whole, bytes_by_table(connection)

    before, empty = looked()
    calendar = latest(datetime.now(UTC))
    made = make(database_url, stacks=3000, new=0, machines=50, days=calendar.days[:4], deep_every=5)
    loader = Loader(database_url, made.ids, processes=1)
    loader.load([replace(visit, hour=calendar.end_hour - 1) for visit in made.visits(50_000)])
    loader.close()
    rollup(database_url)
    compact(engine, calendar.closed_at)
    with engine.begin() as connection:
        connection.execute(text(ANOTHER))
    after, tables = looked()
    grown = growth(tables, empty)
    assert sum(grown.values()) == pytest.approx(after - before, rel=0.02)
    assert grown["another"] > 5000 * 100
    # None of the parts may be missing: each is more than what the sum may be wrong by.
    assert sum(size for name, size in grown.items() if size > 0.02 * (after - before)) > 0.9 * (
        after - before
    )
