"""A PostgreSQL that tests may kill; the one they share must live (`tests/conftest.py`)."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.exactly_once.server import MortalServer


@pytest.fixture
def mortal_server() -> Iterator[MortalServer]:
    """A server of the test's own, started; its folder lies where the servers' own user can enter."""
    folder = Path(tempfile.mkdtemp(prefix="fpkill-", dir="/tmp"))
    folder.chmod(0o711)
    made = MortalServer(folder)
    made.start()
    yield made
    made.stop()
    shutil.rmtree(folder, ignore_errors=True)
