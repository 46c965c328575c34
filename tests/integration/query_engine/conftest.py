"""A query engine over the test's database."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from storage.query.query_engine import QueryEngine
from storage.query.stacks.files import StackFiles


@pytest.fixture
def files(tmp_path: Path) -> StackFiles:
    return StackFiles(tmp_path / "stacks")


@pytest.fixture
def queries(engine: Engine, files: StackFiles):
    made = QueryEngine(engine, files=files)
    yield made
    made.close()
