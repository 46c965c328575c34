"""Sign-in with links and tokens, on one API process and on two of one installation."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select, text
from starlette.testclient import TestClient

from services.api.access_records import DatabaseRecords, RecordCopy
from services.api.app import create_app
from services.api.auth import Access
from services.api.failed_attempts import MOST
from services.api.login_links import mint_login_url
from services.api.sessions import SESSION_HEADER, cookie_name, new_session
from services.api.tokens import Role, parse_tokens
from storage.database import open_engine
from storage.query.query_engine import QueryEngine
from storage.schema import ended_session, spent_link
from tests.integration.api.fetch_answers import ADMIN, BASE, OPERATOR, TOKEN, problem
from tests.integration.api.replicas import two_replicas
from tests.polling import until

pytestmark = pytest.mark.integration

SECRET = b"s" * 64
SESSION = "/api/v1/session"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def replicas(engine: Engine, tmp_path: Path) -> Iterator[tuple[TestClient, TestClient]]:
    with two_replicas(engine, tmp_path) as both:
        yield both


def opened_by_link(client: TestClient, path: str) -> dict[str, str]:
    """Headers of the session."""
    response = client.get(path, follow_redirects=False)
    assert response.status_code == 303
    binding = response.headers["location"].removeprefix("/#session=")
    cookie = f"{cookie_name(secure=False)}={client.cookies[cookie_name(secure=False)]}"
    client.cookies.clear()
    return {"Cookie": cookie, SESSION_HEADER: binding}


def opened_by_token(client: TestClient, token: str) -> dict[str, str]:
    response = client.post("/login", json={"token": token})
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    cookie = f"{cookie_name(secure=False)}={client.cookies[cookie_name(secure=False)]}"
    client.cookies.clear()
    return {"Cookie": cookie, SESSION_HEADER: response.json()["binding"]}


def test_a_link_that_was_used_on_one_replica_is_used_on_the_other(replicas: tuple[TestClient, TestClient]):
    one, other = replicas
    path = mint_login_url(SECRET, "")
    session = opened_by_link(one, path)
    assert other.get(SESSION, headers=session).json()["role"] == "admin"
    again = other.get(path)
    assert (again.status_code, "already used" in again.text) == (403, True)


def test_signing_out_on_one_replica_holds_on_the_other(replicas: tuple[TestClient, TestClient]):
    one, other = replicas
    session, remaining = opened_by_token(one, TOKEN), opened_by_token(one, TOKEN)
    assert other.get(SESSION, headers=session).status_code == 200
    assert one.post("/logout", headers=session).status_code == 204
    problem(one.get(SESSION, headers=session), 401)
    until(lambda: other.get(SESSION, headers=session).status_code == 401)
    assert other.get(SESSION, headers=remaining).status_code == 200


def test_marks_of_the_past_are_removed(engine: Engine, replicas: tuple[TestClient, TestClient]):
    one, _ = replicas
    for _ in range(2):
        session = opened_by_link(one, mint_login_url(SECRET, ""))
        assert one.post("/logout", headers=session).status_code == 204
        with engine.begin() as connection:
            for table in (spent_link, ended_session):
                assert connection.scalar(select(func.count()).select_from(table)) == 1
                connection.execute(table.update().values(expires_at=text("now() - interval '2 hours'")))


def test_a_token_signs_in_with_its_role(replicas: tuple[TestClient, TestClient]):
    one, _ = replicas
    for token, role in ((TOKEN, "viewer"), (OPERATOR, "operator"), (ADMIN, "admin")):
        session = opened_by_token(one, token)
        assert token not in session["Cookie"]
        document = one.get(SESSION, headers=session).json()
        assert (document["kind"], document["role"], document["name"]) == ("session", role, None)
        assert datetime.fromisoformat(document["unused_ends_at"]) < datetime.fromisoformat(
            document["ends_at"]
        )
        held = one.get(SESSION, headers=bearer(token)).json()
        assert held == {
            "kind": "token",
            "role": role,
            "name": None,
            "ends_at": None,
            "unused_ends_at": None,
        }


def test_a_session_does_not_do_what_its_role_may_not(replicas: tuple[TestClient, TestClient]):
    one, _ = replicas
    session = opened_by_token(one, TOKEN)
    assert "needs the role admin" in problem(one.get("/api/v1/tokens", headers=session), 403)["detail"]
    view = {"path": "/?view=flame"}
    assert (
        "needs the role operator"
        in problem(one.post("/api/v1/views", json=view, headers=session), 403)["detail"]
    )


def test_wrong_tokens_are_refused_and_then_slowed_down(replicas: tuple[TestClient, TestClient]):
    one, _ = replicas
    for _ in range(MOST):
        wrong = problem(one.post("/login", json={"token": "x" * 24}), 401)
        assert "x" * 24 not in str(wrong)
    assert "set-cookie" not in one.post("/login", json={"token": "x"}).headers
    refused = one.post("/login", json={"token": TOKEN})
    problem(refused, 429)
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert one.get(SESSION, headers=bearer(TOKEN)).status_code == 200, "the limit is that of the form"


@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [
        (
            {"Origin": "http://evil.example", "Content-Type": "application/json"},
            f'{{"token": "{TOKEN}"}}',
            403,
        ),
        ({"Origin": "null", "Content-Type": "application/json"}, f'{{"token": "{TOKEN}"}}', 403),
        ({"Content-Type": "text/plain"}, f'{{"token": "{TOKEN}"}}', 422),
        ({"Content-Type": "application/x-www-form-urlencoded"}, f"token={TOKEN}", 422),
        ({"Content-Type": "application/json"}, "{", 422),
        ({"Content-Type": "application/json"}, '{"token": "' + "x" * 501 + '"}', 422),
        ({"Content-Type": "application/json"}, '{"token": ' + '"x' * 70_000, 413),
    ],
)
def test_pages_elsewhere_sign_no_browser_in(
    replicas: tuple[TestClient, TestClient], headers: dict[str, str], content: str, status: int
):
    response = replicas[0].post("/login", content=content, headers=headers)
    problem(response, status)
    assert "set-cookie" not in response.headers


def test_a_token_makes_links_up_to_its_role(replicas: tuple[TestClient, TestClient]):
    one, other = replicas
    made = one.post("/api/v1/login-links", json={}, headers=bearer(OPERATOR)).json()
    assert made["role"] == "operator"
    session = opened_by_link(other, made["path"])
    assert other.get(SESSION, headers=session).json()["role"] == "operator"
    lower = one.post("/api/v1/login-links", json={"role": "viewer"}, headers=bearer(OPERATOR)).json()
    assert one.get(SESSION, headers=opened_by_link(one, lower["path"])).json()["role"] == "viewer"
    problem(one.post("/api/v1/login-links", json={"role": "admin"}, headers=bearer(OPERATOR)), 403)
    problem(one.post("/api/v1/login-links", json={"role": "god"}, headers=bearer(OPERATOR)), 422)
    problem(one.post("/api/v1/login-links", json={}), 401)


def test_a_session_cannot_prolong_itself_by_a_link(replicas: tuple[TestClient, TestClient]):
    one, _ = replicas
    session = opened_by_token(one, ADMIN)
    refused = problem(one.post("/api/v1/login-links", json={}, headers=session), 403)
    assert "cannot make login links" in refused["detail"]


def test_the_way_to_sign_in_is_public_and_names_no_path_by_default(replicas: tuple[TestClient, TestClient]):
    answer = replicas[0].get("/api/v1/sign-in")
    assert answer.json() == {"command": None}


def test_refusals_show_the_command_of_this_state_directory(engine: Engine, tmp_path: Path):
    queries = QueryEngine(engine)
    command = "FLEETPROF_STATE_DIR='/tmp/a b<' fleetprof url"
    access = Access(SECRET, RecordCopy(DatabaseRecords(engine)), link_command=command)
    with TestClient(create_app(queries, access, static=tmp_path), base_url=BASE) as client:
        assert client.get("/api/v1/sign-in").json() == {"command": command}
        assert command in problem(client.get("/api/v1/status"), 401)["hint"]
        page = client.get("/login", params={"token": "x"})
        assert "FLEETPROF_STATE_DIR=&#x27;/tmp/a b&lt;&#x27; fleetprof url" in page.text
        assert "/tmp/a b<" not in page.text
    queries.close()


def test_without_a_database_sessions_are_undecided_and_tokens_of_settings_hold(tmp_path: Path):
    engine = open_engine("postgresql://unused@/nothing?host=/nonexistent", application="test")
    queries = QueryEngine(engine)
    access = Access(SECRET, RecordCopy(DatabaseRecords(engine)), parse_tokens([f"viewer:{TOKEN}"]))
    own = new_session(SECRET, Role.ADMIN.word)
    session = {"Cookie": f"{cookie_name(secure=False)}={own.cookie}", SESSION_HEADER: own.binding}
    with TestClient(create_app(queries, access, static=tmp_path), base_url=BASE) as client:
        undecided = client.get(SESSION, headers=session)
        problem(undecided, 503)
        assert undecided.headers["retry-after"] == "2"
        problem(client.get(SESSION, headers=bearer("x" * 24)), 503)
        problem(client.post("/login", json={"token": "x" * 24}), 503)
        assert client.get(SESSION, headers=bearer(TOKEN)).status_code == 200
        assert client.get("/metrics", headers=session).status_code == 200
        problem(client.get(SESSION), 401)
        problem(client.get(mint_login_url(SECRET, "")), 503)
        problem(client.post("/logout", headers=session), 503)
    queries.close()
