"""Who is answered: by token, by link, and by the name the API is called."""

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from services.api import sessions
from services.api.sessions import SESSION_HEADER, SESSION_SECONDS
from tests.access_records import login_url
from tests.integration.api.fetch_answers import BASE, BEARER, TOKEN, problem
from tests.integration.api.served import calling, of_a_stranger

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def shared(module_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One app for all tests here: they only read."""
    with calling(module_engine, tmp_path_factory.mktemp("api")) as made:
        yield made


@pytest.fixture
def anyone(shared: TestClient) -> TestClient:
    return of_a_stranger(shared)


@pytest.mark.parametrize("path", ["/api/v1/table", "/api/v1/flame", "/api/v1/labels", "/api/v1/status"])
def test_strangers_get_no_data(anyone: TestClient, path: str):
    assert "fleetprof url" in problem(anyone.get(path), 401)["hint"]
    problem(anyone.get(path, headers={"Authorization": "Bearer " + "x" * 24}), 401)
    problem(anyone.get(path, headers={"Authorization": "Basic " + TOKEN}), 401)
    invented = {"Cookie": "fleetprof_session=admin.99999999999.99999999999.x.y", SESSION_HEADER: "z"}
    problem(anyone.get(path, headers=invented), 401)


def signed_in(anyone: TestClient, folder: Path) -> dict[str, str]:
    """The client has the cookie from now on; the header that belongs to it."""
    link = urlsplit(login_url(folder / "state", BASE))
    response = anyone.get(f"{link.path}?{link.query}", follow_redirects=False)
    assert response.status_code == 303
    address, _, binding = response.headers["location"].partition("#session=")
    assert address == "/"
    return {SESSION_HEADER: binding}


def test_a_link_signs_in_once(engine: Engine, tmp_path: Path):
    with calling(engine, tmp_path) as anyone:
        link = urlsplit(login_url(tmp_path / "state", BASE))
        response = anyone.get(f"{link.path}?{link.query}", follow_redirects=False)
        assert response.headers["cache-control"] == "no-store"
        cookie = response.headers["set-cookie"]
        assert cookie.startswith("fleetprof_session=")
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
        binding = response.headers["location"].removeprefix("/#session=")
        assert anyone.get("/api/v1/status", headers={SESSION_HEADER: binding}).status_code == 200
        again = anyone.get(f"{link.path}?{link.query}")
        assert again.status_code == 403
        assert "already used" in again.text
        assert "fleetprof url" in again.text


def test_a_cookie_alone_opens_nothing(engine: Engine, tmp_path: Path):
    """As it is sent to whatever listens on another port of this host."""
    with calling(engine, tmp_path) as anyone:
        binding = signed_in(anyone, tmp_path)
        described = anyone.app.openapi()["paths"]
        paths = [path for path, methods in described.items() if "get" in methods and "{" not in path]
        paths.remove("/api/v1/sign-in")  # says how to sign in
        for path in paths:
            problem(anyone.get(path), 401)
            problem(anyone.get(path, headers={SESSION_HEADER: "x"}), 401)
        problem(anyone.get("/metrics"), 401)
        assert anyone.get("/metrics", headers=binding).status_code == 200
        anyone.cookies.clear()
        problem(anyone.get("/api/v1/status", headers=binding), 401)


def test_over_tls_the_cookie_is_for_this_host_and_tls_alone(engine: Engine, tmp_path: Path):
    with calling(engine, tmp_path) as anyone:
        anyone.base_url = BASE.replace("http:", "https:")
        link = urlsplit(login_url(tmp_path / "state", BASE))
        response = anyone.get(f"{link.path}?{link.query}", follow_redirects=False)
        name, _, rest = response.headers["set-cookie"].partition("=")
        assert name == "__Host-fleetprof_session"
        assert "Secure" in rest.split("; ")
        binding = {SESSION_HEADER: response.headers["location"].removeprefix("/#session=")}
        assert anyone.get("/api/v1/status", headers=binding).status_code == 200
        plain = {"Cookie": f"fleetprof_session={rest.partition(';')[0]}", **binding}
        anyone.cookies.clear()
        problem(anyone.get("/api/v1/status", headers=plain), 401)


def test_signing_out_ends_the_session_for_good(engine: Engine, tmp_path: Path):
    with calling(engine, tmp_path) as anyone:
        binding = signed_in(anyone, tmp_path)
        cookie = {"Cookie": f"fleetprof_session={anyone.cookies['fleetprof_session']}"}
        assert anyone.post("/logout").status_code == 204
        assert anyone.get("/api/v1/status", headers=binding | cookie).status_code == 200, (
            "a cookie alone ends nothing"
        )
        problem(anyone.post("/logout", headers={**binding, **cookie, "Origin": "http://evil.example"}), 403)
        assert anyone.get("/api/v1/status", headers=binding | cookie).status_code == 200
        ended = anyone.post("/logout", headers=binding | cookie)
        assert (ended.status_code, "Max-Age=0" in ended.headers["set-cookie"]) == (204, True)
        assert "fleetprof_session" not in anyone.cookies
        problem(anyone.get("/api/v1/status", headers=binding | cookie), 401)
    with calling(engine, tmp_path / "again", state=tmp_path / "state") as later:
        problem(later.get("/api/v1/status", headers=binding | cookie), 401)


def test_use_prolongs_a_session(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with calling(engine, tmp_path) as anyone:
        binding = signed_in(anyone, tmp_path)
        first = anyone.cookies["fleetprof_session"]
        assert "set-cookie" not in anyone.get("/api/v1/status", headers=binding).headers
        real = time.time
        monkeypatch.setattr(sessions.time, "time", lambda: real() + SESSION_SECONDS - 60)
        response = anyone.get("/api/v1/status", headers=binding)
        assert response.headers["cache-control"] == "no-store"
        assert anyone.cookies["fleetprof_session"] != first
        assert "set-cookie" not in anyone.get("/api/v1/status", headers=BEARER).headers
        monkeypatch.setattr(sessions.time, "time", lambda: real() + 2 * SESSION_SECONDS - 120)
        assert anyone.get("/api/v1/status", headers=binding).status_code == 200


@pytest.mark.parametrize("token", ["", "x", "1.2.3", "é", "a" * 10_000])
def test_invented_links_sign_nobody_in(anyone: TestClient, token: str):
    response = anyone.get("/login", params={"token": token})
    assert response.status_code == 403
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "", "[::1"]
)
def test_a_foreign_name_is_refused(client: TestClient, host: str):
    problem(client.get("/api/v1/status", headers={"Host": host}), 421)
    problem(client.get("/", headers={"Host": host}), 421)
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:7070", "127.0.0.1:1", "[::1]:7070", "fleet.example:443"]
)
def test_own_names_are_answered(client: TestClient, host: str):
    assert client.get("/api/v1/status", headers={"Host": host}).status_code == 200
