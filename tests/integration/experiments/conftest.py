"""Uploads over HTTP and by the command line, of a simulated lab."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from services.api.app import create_app
from services.cli import main
from services.experiments.experiment_service import ExperimentService
from storage.query.query_engine import QueryEngine
from tests.access_records import access_of
from tests.experiment_files import Lab, lab
from tests.integration.experiments.fetch_experiments import BASE, OPERATOR, TARGETS, VIEWER, Fleetprof


@pytest.fixture(scope="module")
def measured() -> Lab:
    return lab(np.random.default_rng(5), TARGETS)


@pytest.fixture
def anyone(engine: Engine, tmp_path: Path) -> Iterator[TestClient]:
    access = access_of(tmp_path / "state", [f"viewer:{VIEWER}", f"operator:{OPERATOR}"])
    queries = QueryEngine(engine)
    service = ExperimentService(engine)
    app = create_app(queries, access, static=tmp_path, experiments=service, uploads=tmp_path / "uploads")
    with TestClient(app, base_url=BASE) as client:
        yield client
    queries.close()


@pytest.fixture
def operator(anyone: TestClient) -> TestClient:
    anyone.headers["Authorization"] = f"Bearer {OPERATOR}"
    return anyone


@pytest.fixture
def fleetprof(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Fleetprof:
    """Run `fleetprof`; its exit code, standard output and standard error."""
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    monkeypatch.setenv("FLEETPROF_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fleetprof", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run
