"""GIVEN a server WHEN `fleetprof url` is run THEN its link opens a session with the role that was chosen."""

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn
from sqlalchemy import Engine
from typer.testing import CliRunner

from services.api.app import create_app
from services.api.sessions import SESSION_HEADER
from services.cli import app as program
from services.deployment.running_deployment import RunningDeployment, lock_state_dir, publish_deployment
from services.errors import ApiRefused, NotRunning, SettingsProblem
from storage.query.query_engine import QueryEngine
from tests.access_records import access_of
from tests.polling import until

pytestmark = pytest.mark.integration

OPERATOR = "o" * 24


@pytest.fixture
def server(engine: Engine, tmp_path: Path) -> Iterator[str]:
    queries = QueryEngine(engine)
    access = access_of(tmp_path / "state", [f"operator:{OPERATOR}"], engine)
    running = uvicorn.Server(
        uvicorn.Config(create_app(queries, access, static=tmp_path), port=0, log_config=None)
    )
    thread = threading.Thread(target=running.run)
    thread.start()
    until(lambda: running.started)
    yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    running.should_exit = True
    thread.join()
    queries.close()


def run(*arguments: str):
    return CliRunner().invoke(program, ["url", *arguments])


def link_of(printed: str) -> str:
    """The link of a command's output, into which the server of this process logs, too."""
    return printed[printed.rindex("http://") :].strip()


def role_by(link: str) -> str:
    parts = urlsplit(link)

    def ask(path: str, headers: dict[str, str]) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection(parts.netloc, timeout=20)
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response, body

    opened, _ = ask(f"{parts.path}?{parts.query}", {})
    assert opened.status == 303
    cookie = opened.headers["set-cookie"].partition(";")[0]
    binding = opened.headers["location"].partition("#session=")[2]
    _, body = ask("/api/v1/session", {"Cookie": cookie, SESSION_HEADER: binding})
    return json.loads(body)["role"]


@pytest.mark.parametrize(("arguments", "role"), [((), "admin"), (("--role", "viewer"), "viewer")])
def test_a_link_to_the_up_that_runs_here(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], role: str
):
    state = tmp_path / "state"
    monkeypatch.setenv("FLEETPROF_STATE_DIR", str(state))
    with lock_state_dir(state):
        publish_deployment(state, RunningDeployment(1, "", "", server, ""))
        done = run(*arguments)
    assert done.output.startswith(f"{server}/login?token=")
    assert role_by(link_of(done.output)) == role


@pytest.mark.parametrize(("arguments", "role"), [((), "operator"), (("--role", "viewer"), "viewer")])
def test_a_link_to_any_api_by_a_token(
    server: str, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], role: str
):
    monkeypatch.setenv("FLEETPROF_TOKEN", OPERATOR)
    done = run("--api", f"{server}/", *arguments)
    assert role_by(link_of(done.output)) == role
    monkeypatch.setenv("FLEETPROF_URL", server)
    assert link_of(run(*arguments).output).startswith(f"{server}/login?token=")


def test_what_is_missing_is_said(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FLEETPROF_STATE_DIR", str(tmp_path / "none"))
    nowhere = run().exception
    assert isinstance(nowhere, NotRunning)
    assert "fleetprof url --api URL" in str(nowhere)
    without = run("--api", server).exception
    assert isinstance(without, ApiRefused)
    assert "Set FLEETPROF_TOKEN to an API token" in str(without)
    monkeypatch.setenv("FLEETPROF_TOKEN", OPERATOR)
    above = run("--api", server, "--role", "admin").exception
    assert isinstance(above, ApiRefused)
    assert "needs the role admin" in str(above)
    assert isinstance(run("--api", "http://fleet.example").exception, SettingsProblem)
