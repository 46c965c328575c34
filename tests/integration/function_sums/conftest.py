"""Cells are read, however few visits they save."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from storage.query.query_engine import QueryEngine
from tests.access_paths import BY_CELLS


@pytest.fixture
def queries(engine: Engine) -> Iterator[QueryEngine]:
    made = QueryEngine(engine)
    made.planner = BY_CELLS
    yield made
    made.close()
