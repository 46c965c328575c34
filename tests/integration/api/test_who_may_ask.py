"""Who is answered: by token, by link, and by the name the API is called."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from services.api.auth import mint_login_url
from tests.integration.api.asking import BASE, TOKEN, problem
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
    problem(anyone.get(path, headers={"Cookie": "fleetprof_session=admin.99999999999.x.y"}), 401)


def test_a_link_signs_in_once(engine: Engine, tmp_path: Path):
    with calling(engine, tmp_path) as anyone:
        link = urlsplit(mint_login_url(tmp_path / "state", BASE))
        response = anyone.get(f"{link.path}?{link.query}", follow_redirects=False)
        assert (response.status_code, response.headers["location"]) == (303, "/")
        cookie = response.headers["set-cookie"]
        assert cookie.startswith("fleetprof_session=")
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert anyone.get("/api/v1/status").status_code == 200
        again = anyone.get(f"{link.path}?{link.query}")
        assert again.status_code == 403
        assert "used already" in again.text
        assert "fleetprof url" in again.text


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
