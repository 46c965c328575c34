"""GIVEN a path below /api that has no answer to a GET or HEAD WHEN it is asked for THEN it is said why."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from fastapi import APIRouter, FastAPI, Request, Response
from starlette.testclient import TestClient

from services.api import problems
from services.api.pages import ui_router


def nothing() -> dict[str, str]:
    return {}


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    app = FastAPI(openapi_url="/api/v1/openapi.json")
    router = APIRouter(prefix="/api/v1")
    for path, methods in (
        ("/table", ["GET"]),
        ("/symbols", ["GET"]),
        ("/symbols", ["POST"]),
        ("/symbols/{key}", ["DELETE"]),
        ("/sources", ["POST"]),
    ):
        router.add_api_route(path, nothing, methods=methods)

    @app.middleware("http")
    async def with_id(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        request.state.request_id = "id"
        return await answer(request)

    problems.install(app)
    app.include_router(router)
    app.include_router(ui_router(tmp_path))
    return TestClient(app)


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("HEAD", "/api/v1/table", 405, "GET"),
        ("HEAD", "/api/v1/symbols", 405, "GET, POST"),
        ("HEAD", "/api/v1/symbols/ab", 405, "DELETE"),
        ("GET", "/api/v1/symbols/ab", 405, "DELETE"),
        ("HEAD", "/api/v1/sources", 405, "POST"),
        ("GET", "/api/v1/sources", 405, "POST"),
        ("HEAD", "/api/v1/nothing", 404, None),
        ("GET", "/api/v1/nothing", 404, None),
        ("HEAD", "/api/v1/table/nothing", 404, None),
        ("HEAD", "/api", 404, None),
        ("HEAD", "/api/", 404, None),
        ("GET", "/api/v1/table", 200, None),
        ("HEAD", "/api/v1/openapi.json", 200, None),
    ],
)
def test_methods_are_told_of_what_there_is(
    client: TestClient, method: str, path: str, status: int, allow: str | None
):
    response = client.request(method, path)
    assert (response.status_code, response.headers.get("allow")) == (status, allow)


def test_who_asks_by_the_wrong_method_is_told_what_to_do(client: TestClient):
    assert (
        client.get("/api/v1/sources").json()["detail"]
        == "/api/v1/sources does not support GET: it supports POST."
    )
    assert "openapi.json" in client.get("/api/v1/nothing").json()["hint"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/source/libc.so.6?path=a.c", 200),
        ("/source/%2Fsrv%2Fapp%2Fmain.py", 200),
        ("/machines/web-1.example", 200),
        ("/robots.txt", 404),
        ("/assets/gone.js", 404),
    ],
)
def test_a_name_below_a_page_may_have_dots_and_slashes(
    client: TestClient, tmp_path: Path, path: str, status: int
):
    (tmp_path / "index.html").write_text("page")
    assert client.get(path).status_code == status
