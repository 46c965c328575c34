"""Tokens that administrators create, list and revoke."""

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, text
from starlette.testclient import TestClient
from typer.testing import CliRunner

from services.cli import app as program
from storage.schema import api_token
from tests.integration.api.fetch_answers import ADMIN, OPERATOR, TOKEN, problem
from tests.integration.api.replicas import two_replicas
from tests.integration.api.test_sign_in import SESSION, bearer, opened_by_token
from tests.polling import until

pytestmark = pytest.mark.integration

TOKENS = "/api/v1/tokens"
CI = {"name": "ci", "role": "operator"}


@pytest.fixture
def replicas(engine: Engine, tmp_path: Path) -> Iterator[tuple[TestClient, TestClient]]:
    with two_replicas(engine, tmp_path) as both:
        yield both


def test_a_token_is_shown_once_and_stored_as_a_digest(
    engine: Engine, replicas: tuple[TestClient, TestClient]
):
    one, _ = replicas
    created = one.post(TOKENS, json=CI, headers=bearer(ADMIN)).json()
    token = created.pop("token")
    assert created == {
        "name": "ci",
        "role": "operator",
        "created_at": created["created_at"],
        "created_by": "admin at testclient",
        "expires_at": None,
        "last_used": None,
    }
    listed = one.get(TOKENS, headers=bearer(ADMIN))
    assert listed.json() == {"tokens": [created]}
    with engine.connect() as connection:
        row = connection.execute(select(api_token)).one()
    assert row.digest == sha256(token.encode()).digest()
    assert token not in str(row)


def test_a_token_is_accepted_at_once_here_and_soon_on_the_other_replica(
    replicas: tuple[TestClient, TestClient],
):
    one, other = replicas
    token = one.post(TOKENS, json=CI, headers=bearer(ADMIN)).json()["token"]
    document = one.get(SESSION, headers=bearer(token)).json()
    assert (document["kind"], document["role"], document["name"]) == ("token", "operator", "ci")
    until(lambda: other.get(SESSION, headers=bearer(token)).status_code == 200)


def test_a_revoked_token_is_refused_with_its_sessions_and_links(replicas: tuple[TestClient, TestClient]):
    one, other = replicas
    token = one.post(TOKENS, json=CI, headers=bearer(ADMIN)).json()["token"]
    session = opened_by_token(one, token)
    link = one.post("/api/v1/login-links", json={}, headers=bearer(token)).json()["path"]
    until(lambda: other.get(SESSION, headers=session).status_code == 200)
    assert one.delete(f"{TOKENS}/ci", headers=bearer(ADMIN)).json() == {"name": "ci"}
    problem(one.get(SESSION, headers=bearer(token)), 401)
    problem(one.get(SESSION, headers=session), 401)
    problem(one.post("/login", json={"token": token}), 401)
    assert "no longer valid" in one.get(link).text
    until(lambda: other.get(SESSION, headers=bearer(token)).status_code == 401)
    until(lambda: other.get(SESSION, headers=session).status_code == 401)


def test_a_token_expires_with_its_sessions(engine: Engine, replicas: tuple[TestClient, TestClient]):
    one, _ = replicas
    created = one.post(TOKENS, json={**CI, "days": 3}, headers=bearer(ADMIN)).json()
    left = datetime.fromisoformat(created["expires_at"]) - datetime.now(UTC)
    assert 2 < left.total_seconds() / 86_400 <= 3
    session = opened_by_token(one, created["token"])
    assert one.get(SESSION, headers=session).json()["ends_at"] <= created["expires_at"]
    with engine.begin() as connection:
        connection.execute(text("UPDATE api_token SET expires_at = now() - interval '1 second'"))
    until(lambda: one.get(SESSION, headers=bearer(created["token"])).status_code == 401)
    problem(one.get(SESSION, headers=session), 401)


def test_the_day_of_the_last_use_is_noted(replicas: tuple[TestClient, TestClient]):
    one, _ = replicas
    token = one.post(TOKENS, json=CI, headers=bearer(ADMIN)).json()["token"]
    assert one.get(SESSION, headers=bearer(token)).status_code == 200

    def last_used() -> str | None:
        return one.get(TOKENS, headers=bearer(ADMIN)).json()["tokens"][0]["last_used"]

    until(lambda: last_used() is not None)
    assert last_used() == datetime.now(UTC).date().isoformat()


@pytest.mark.parametrize("token", [TOKEN, OPERATOR])
def test_tokens_are_for_administrators(replicas: tuple[TestClient, TestClient], token: str):
    one, _ = replicas
    problem(one.get(TOKENS, headers=bearer(token)), 403)
    problem(one.post(TOKENS, json=CI, headers=bearer(token)), 403)
    problem(one.delete(f"{TOKENS}/ci", headers=bearer(token)), 403)


@pytest.mark.parametrize(
    ("body", "status", "parameter"),
    [
        ({"name": "", "role": "viewer"}, 422, "name"),
        ({"name": "a/b", "role": "viewer"}, 422, "name"),
        ({"name": "x" * 101, "role": "viewer"}, 422, "name"),
        ({"name": "x", "role": "god"}, 422, "role"),
        ({"name": "x", "role": "viewer", "days": 0}, 422, "days"),
        ({"name": "x", "role": "viewer", "days": 10**30}, 422, "days"),
        ({"name": "x", "role": "viewer", "more": 1}, 422, "more"),
    ],
)
def test_unusable_tokens_are_refused_by_the_name_of_the_member(
    replicas: tuple[TestClient, TestClient], body: dict[str, object], status: int, parameter: str
):
    one, _ = replicas
    assert problem(one.post(TOKENS, json=body, headers=bearer(ADMIN)), status)["parameter"] == parameter


def test_names_are_unique(replicas: tuple[TestClient, TestClient]):
    one, _ = replicas
    assert one.post(TOKENS, json=CI, headers=bearer(ADMIN)).status_code == 200
    assert "'ci'" in problem(one.post(TOKENS, json=CI, headers=bearer(ADMIN)), 409)["detail"]
    problem(one.delete(f"{TOKENS}/other", headers=bearer(ADMIN)), 404)
    problem(one.delete(f"{TOKENS}/%00", headers=bearer(ADMIN)), 404)


def test_commands_create_list_and_revoke(
    replicas: tuple[TestClient, TestClient], database_url: str, monkeypatch: pytest.MonkeyPatch
):
    one, _ = replicas
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)

    def run(*arguments: str):
        return CliRunner().invoke(program, ["tokens", *arguments])

    assert "There are no API tokens" in run("list").output
    created = run("create", "ci", "--role", "operator", "--days", "9")
    token = created.stdout.strip()
    assert token.startswith("fleetprof_")
    assert "not shown again" in created.stderr
    until(lambda: one.get(SESSION, headers=bearer(token)).status_code == 200)
    assert "operator" in run("list").output
    assert token not in run("list", "--json").output
    assert run("revoke", "ci").output == "Revoked token ci.\n"
    until(lambda: one.get(SESSION, headers=bearer(token)).status_code == 401)
