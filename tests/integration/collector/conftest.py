"""Where made-up gateways listen, and what was sent to be ingested."""

import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest


@pytest.fixture
def sockets(server_directory: Path) -> Iterator[Path]:
    folder = server_directory / f"sockets-{time.monotonic_ns()}"
    folder.mkdir()
    return folder


@pytest.fixture
def sent() -> list[UUID]:
    return []
