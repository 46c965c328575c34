"""An API over a store with a few samples, or a fleet of twelve visits, and its clients."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from services.api.auth import Access
from tests.integration.api.fetch_answers import BEARER
from tests.integration.api.served import access_to, calling, pages, write_fleet, write_samples


@pytest.fixture
def static(tmp_path: Path) -> Path:
    return pages(tmp_path)


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return access_to(tmp_path)


@pytest.fixture
def anyone(engine: Engine, tmp_path: Path) -> Iterator[TestClient]:
    """A client without a session, of an app of the test's own."""
    with calling(engine, tmp_path) as made:
        yield made


@pytest.fixture
def client(anyone: TestClient) -> TestClient:
    """A client with a token."""
    anyone.headers.update(BEARER)
    return anyone


@pytest.fixture
def samples(engine: Engine) -> None:
    write_samples(engine)


@pytest.fixture
def fleet(engine: Engine) -> None:
    write_fleet(engine)
