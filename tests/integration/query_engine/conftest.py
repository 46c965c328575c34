"""A query engine over the test's database."""

import pytest
from sqlalchemy import Engine

from storage.query.engine import QueryEngine


@pytest.fixture
def queries(engine: Engine):
    made = QueryEngine(engine)
    yield made
    made.close()
