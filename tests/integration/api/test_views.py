"""Saved views, short links, and prices of platforms."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from storage.schema import saved_view
from tests.integration.api.fetch_answers import ADMIN, OPERATOR, TOKEN, problem
from tests.integration.api.served import calling
from tests.integration.api.test_sign_in import bearer

pytestmark = pytest.mark.integration

VIEWS = "/api/v1/views"
PATH = "/symbols?order=samples&select=%7Bapplication%3D%22nginx%22%7D"


@pytest.fixture
def anyone(engine: Engine, tmp_path: Path) -> Iterator[TestClient]:
    with calling(engine, tmp_path) as made:
        made.follow_redirects = False
        yield made


def save(client: TestClient, **body: object):
    return client.post(VIEWS, json=body, headers=bearer(OPERATOR))


def test_a_saved_view_is_shared_and_leads_to_its_address(anyone: TestClient):
    saved = save(anyone, name="nginx  symbols", path=PATH).json()
    assert saved == {
        "id": saved["id"],
        "name": "nginx symbols",
        "path": PATH,
        "short": f"/v/{saved['id']}",
        "role": "operator",
        "created_at": saved["created_at"],
    }
    assert anyone.get(VIEWS, headers=bearer(TOKEN)).json() == {"views": [saved]}
    led = anyone.get(saved["short"])
    assert (led.status_code, led.headers["location"], led.headers["cache-control"]) == (302, PATH, "no-store")


def test_a_short_link_has_no_name_and_one_address_has_one(anyone: TestClient):
    first, again = save(anyone, path="/?view=flame").json(), save(anyone, path="/?view=flame").json()
    assert first == again
    assert first["name"] is None
    assert anyone.get(VIEWS, headers=bearer(TOKEN)).json() == {"views": []}
    assert save(anyone, path="/?view=table").json()["id"] != first["id"]
    assert anyone.get(first["short"]).headers["location"] == "/?view=flame"


def test_a_deleted_view_leads_nowhere(anyone: TestClient):
    saved = save(anyone, name="x", path="/").json()
    assert anyone.delete(f"{VIEWS}/{saved['id']}", headers=bearer(OPERATOR)).json() == {"id": saved["id"]}
    gone = anyone.get(saved["short"])
    assert (gone.status_code, "No such link" in gone.text) == (404, True)
    problem(anyone.delete(f"{VIEWS}/{saved['id']}", headers=bearer(OPERATOR)), 404)
    problem(anyone.delete(f"{VIEWS}/%00", headers=bearer(OPERATOR)), 404)
    assert anyone.get("/v/%00").status_code == 404
    escaped = anyone.get("/v/<b>x")
    assert (escaped.status_code, "<b>" in escaped.text) == (404, False)


def test_viewers_read_views_and_change_none(anyone: TestClient):
    saved = save(anyone, name="x", path="/").json()
    problem(anyone.post(VIEWS, json={"path": "/"}, headers=bearer(TOKEN)), 403)
    problem(anyone.delete(f"{VIEWS}/{saved['id']}", headers=bearer(TOKEN)), 403)
    problem(anyone.get(VIEWS), 401)


def test_names_of_views_are_unique(anyone: TestClient):
    assert save(anyone, name="x", path="/").status_code == 200
    problem(save(anyone, name="x", path="/symbols"), 409)
    assert problem(save(anyone, name=" ", path="/"), 422)["parameter"] == "name"
    assert problem(save(anyone, name="a\nb\x07", path="/"), 422)["parameter"] == "name"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "symbols",
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "/x\r\nSet-Cookie: a=b",
        "https://evil.example/",
        "javascript:alert(1)",
        "/é",
        "/#session=x",
        "/login?token=x",
        "/./login?token=x",
        "/%2e/login?token=x",
        "/a/../login?token=x",
        "/a//evil.example",
        "/%2f/evil.example",
        "/api/v1/status",
        "/v/abc",
        "/logout",
        "/" + "x" * 8000,
    ],
)
def test_a_link_leads_to_pages_of_this_server_only(anyone: TestClient, path: str):
    assert problem(save(anyone, path=path), 422)["parameter"] == "path"


def test_a_row_that_somebody_wrote_into_the_database_leads_nowhere_else(engine: Engine, anyone: TestClient):
    with engine.begin() as connection:
        connection.execute(saved_view.insert().values(view_id="bad", path="//evil.example", role="viewer"))
    response = anyone.get("/v/bad")
    assert (response.status_code, "location" in response.headers) == (404, False)


def test_administrators_set_prices_of_platforms(anyone: TestClient):
    prices = "/api/v1/prices"
    assert anyone.get(prices, headers=bearer(TOKEN)).json() == {"default": None, "platforms": []}
    body = {"platforms": {"Zen 3": 0.04, "Ice Lake": 0.05}}
    problem(anyone.put(prices, json=body, headers=bearer(OPERATOR)), 403)
    first = anyone.put(prices, json=body, headers=bearer(ADMIN)).json()["platforms"]
    assert [(price["platform"], price["price_per_core_hour"]) for price in first] == [
        ("Ice Lake", 0.05),
        ("Zen 3", 0.04),
    ]
    assert first[0]["changed_by"] == "admin at testclient"
    second = anyone.put(prices, json={"platforms": {"Zen 3": 0.04}}, headers=bearer(ADMIN)).json()
    assert second["platforms"] == [first[1]], "an unchanged price keeps its time"
    assert anyone.get(prices, headers=bearer(TOKEN)).json() == second
    for price in (-1, 1e999, "x"):
        content = f'{{"platforms": {{"Zen 3": {price if price != "x" else chr(34) + "x" + chr(34)}}}}}'
        content = content.replace("inf", "Infinity")
        headers = {**bearer(ADMIN), "Content-Type": "application/json"}
        problem(anyone.put(prices, content=content, headers=headers), 422)
