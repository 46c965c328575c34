"""GIVEN a store WHEN its schema is another program's THEN the API says that it is not ready, and is ready else."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from starlette.testclient import TestClient

from services.api.app import create_app
from storage.query.query_engine import QueryEngine
from tests.access_records import access_of

pytestmark = pytest.mark.integration

TOKEN = "t" * 24


@pytest.fixture
def anyone(engine: Engine, tmp_path: Path):
    queries = QueryEngine(engine)
    app = create_app(queries, access_of(tmp_path / "state", [f"viewer:{TOKEN}"]), static=tmp_path)
    with TestClient(app, base_url="http://127.0.0.1:7070", client=("127.0.0.1", 4000)) as client:
        yield client
    queries.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("revision", "said"), [("0001", "fleetprof db upgrade"), ("9999", "install a newer fleetprof")]
)
def test_a_schema_of_another_program_is_not_ready(
    engine: Engine, anyone: TestClient, revision: str, said: str
):
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
    refused = not_ready(anyone)
    assert "The log has the cause" in refused["detail"], "its caller proves nothing"
    document = not_ready(anyone, Authorization=f"Bearer {TOKEN}")
    assert said in document["detail"]
    assert document["type"] == "urn:fleetprof:problem:not-migrated"


def not_ready(anyone: TestClient, **headers: str) -> dict[str, str]:
    response = anyone.get("/readyz", headers=headers)
    assert response.status_code == 503
    document: dict[str, str] = response.json()
    return document
