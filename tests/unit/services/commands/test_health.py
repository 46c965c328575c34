"""GIVEN processes that answer probes WHEN `fleetprof health` asks THEN its exit code says whether all are ready."""

import json
from pathlib import Path

import pytest
from fastapi import FastAPI, Request
from starlette.responses import PlainTextResponse
from typer.testing import CliRunner

from services.api.request_auth import demand
from services.api.tokens import Role
from services.cli import app
from services.deployment.running_deployment import RunningDeployment, lock_state_dir, publish_deployment
from services.errors import NotRunning
from services.monitoring.metrics_address import MetricsAddress
from services.monitoring.metrics_server import MetricsServer
from services.monitoring.readiness import Readiness
from tests.access_records import access_of
from tests.threaded_server import listening


@pytest.fixture
def process(tmp_path: Path):
    wrong: list[str] = []
    readiness = Readiness(
        {"database": lambda: wrong[0] if wrong else None}, clock=iter(range(0, 1000, 10)).__next__
    )
    server = MetricsServer(MetricsAddress(path=tmp_path / "o.sock"), readiness, lambda: b"up 1\n")
    server.start()
    yield str(server.address), wrong
    server.close()


def health(*arguments: str):
    return CliRunner().invoke(app, ["health", *arguments])


def test_it_says_what_each_process_says(process):
    address, wrong = process
    done = health(address)
    assert done.exit_code == 0
    assert json.loads(done.output.split(": ", 1)[1])["status"] == "ready"
    wrong.append("It is away.")
    done = health(address)
    assert done.exit_code == 1
    assert "It is away." in done.output
    assert health("--live", address).exit_code == 0


def test_metrics_are_printed_as_they_are(process):
    address, _ = process
    assert health("--metrics", address).output == "up 1\n"
    assert "# unix:" in health("--metrics", address, address.replace("o.sock", "none.sock")).output


def test_nobody_there_is_not_well(tmp_path: Path):
    done = health(f"unix:{tmp_path}/none.sock")
    assert done.exit_code == 1
    assert "No response from" in done.output


def test_without_addresses_the_parts_of_up_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FLEETPROF_STATE_DIR", str(tmp_path))
    assert isinstance(health().exception, NotRunning)


def test_the_api_of_up_is_asked_as_its_user_and_no_other_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FLEETPROF_STATE_DIR", str(tmp_path))
    api = FastAPI()

    @api.get("/metrics")
    async def metrics(request: Request) -> PlainTextResponse:
        demand(request, access_of(tmp_path), Role.VIEWER)
        return PlainTextResponse("up 2\n")

    with listening(api) as port, lock_state_dir(tmp_path):
        publish_deployment(tmp_path, RunningDeployment(1, "", "", f"http://127.0.0.1:{port}", ""))
        assert health("--metrics").output == "up 2\n"
        assert health("--metrics", f"127.0.0.1:{port}").exit_code == 1
