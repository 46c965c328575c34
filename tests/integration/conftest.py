"""Fixtures of integration tests; the servers that all tests share are in `tests/conftest.py`."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from storage.query.query_engine import QueryEngine
from tests.integration.exactly_once.server import MortalServer


@pytest.fixture
def queries(engine: Engine) -> Iterator[QueryEngine]:
    """Queries of the test's database."""
    opened = QueryEngine(engine)
    yield opened
    opened.close()


@pytest.fixture
def mortal_server() -> Iterator[MortalServer]:
    """A PostgreSQL that the test may kill, started; its folder lies where the servers' own user can enter."""
    folder = Path(tempfile.mkdtemp(prefix="fpkill-", dir="/tmp"))
    folder.chmod(0o711)
    made = MortalServer(folder)
    made.start()
    yield made
    made.stop()
    shutil.rmtree(folder, ignore_errors=True)
