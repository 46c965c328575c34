"""A store of closed days and a lake beside it, for every test of the lake."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from storage.segments.location import Lake
from tests.access_paths import BY_VISITS
from tests.small_lake import Store


@pytest.fixture
def store(engine: Engine, tmp_path: Path) -> Iterator[Store]:
    """Empty; the lake's path has a space in it."""
    made = Store(engine, Lake(str(tmp_path / "the lake")))
    yield made
    made.postgres.close()
    made.duckdb.close()


@pytest.fixture
def without_cells(store: Store) -> None:
    """PostgreSQL answers visit by visit: cells know fewer figures, and estimate the variance of some otherwise."""
    store.postgres.planner = BY_VISITS
