"""GIVEN files of experiments WHEN they are uploaded, listed and removed THEN only sound ones are kept, by who may."""

import gzip
import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from services.api import experiments as described
from services.experiments.experiment_csv import LARGEST_BYTES
from storage import experiments
from tests.experiment_files import PLATFORM, Lab, name
from tests.integration.experiments.fetch_experiments import OPERATOR, VIEWER, Fleetprof, upload

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


@pytest.mark.slow
def test_sets_are_listed_shown_and_removed(fleetprof: Fleetprof, measured: Lab, tmp_path: Path) -> None:
    assert "There are no experiments" in fleetprof("experiments", "list")[1]
    path = tmp_path / "x.csv"
    path.write_text(measured.text)
    assert fleetprof("experiments", "add", path, "--name", "one")[0] == 0
    code, _, err = fleetprof("experiments", "add", path, "--name", "one")
    assert code == 1
    assert "Experiments 'one' exist already." in err
    assert fleetprof("experiments", "add", path, "--name", "one", "--replace")[0] == 0
    found = json.loads(fleetprof("experiments", "list", "--json")[1])
    described.ExperimentSets.model_validate(found)
    assert [(each["name"], each["alone"], each["beside"]) for each in found["experiments"]] == [
        ("one", 48, 240)
    ]
    out = fleetprof("experiments", "list")[1]
    assert "one" in out
    assert PLATFORM in out
    whole = json.loads(fleetprof("experiments", "show", "one", "--json")[1])
    described.ExperimentRuns.model_validate(whole)
    assert len(whole["rows"]) == 288
    assert [row["line"] for row in whole["rows"]] == list(range(2, 290))
    out = fleetprof("experiments", "show", "one", "--rows", "3")[1]
    assert "(alone)" in out
    assert "285 more runs" in out
    assert fleetprof("experiments", "remove", "one") == (0, "Deleted experiments one.\n", "")
    for words in (("show", "one"), ("remove", "one")):
        code, _, err = fleetprof("experiments", *words)
        assert code == 1
        assert "There are no experiments 'one'; see: fleetprof experiments list" in err


@pytest.mark.slow
def test_nothing_of_a_wrong_file_is_kept(
    fleetprof: Fleetprof, operator: TestClient, measured: Lab, tmp_path: Path, engine: Engine
) -> None:
    wrong = measured.text.replace("cpi", "nan", 1).replace(
        f"{PLATFORM},{name(5)},,,,", f"{PLATFORM},{name(5)},,,,x"
    )
    path = tmp_path / "x.csv"
    path.write_text(wrong)
    code, _, err = fleetprof("experiments", "add", path)
    assert code == 1
    assert "column metric: 'nan' is not a metric; write one of time, cpi, ipc" in err
    assert "column mlines_per_s: 'x" in err
    problem = upload(operator, wrong.encode(), "lab", 422)
    assert "column metric: 'nan' is not a metric" in problem["detail"]
    assert problem["type"] == "urn:fleetprof:problem:unusable-file"
    assert "Nothing was stored" in problem["hint"]
    assert "is not a valid name of experiments" in upload(operator, measured.content, "a/b", 422)["detail"]
    assert "is not a valid name of experiments" in upload(operator, measured.content, "", 422)["detail"]
    code, _, err = fleetprof("experiments", "add", tmp_path / "none.csv")
    assert code == 2
    assert "Cannot read" in err
    with engine.connect() as connection:
        assert experiments.sets(connection) == ()


@pytest.mark.slow
def test_who_may_upload_and_remove_over_http(operator: TestClient, measured: Lab) -> None:
    upload(operator, measured.content, "lab")
    assert "already" in upload(operator, measured.content, "lab", 409)["detail"]
    upload(operator, measured.content, "lab", replace="true")
    packed = operator.post(
        "/api/v1/experiments",
        params={"name": "packed"},
        content=gzip.compress(measured.content),
        headers={"Content-Encoding": "gzip"},
    )
    assert packed.status_code == 200, packed.text
    listed = operator.get("/api/v1/experiments").json()
    described.ExperimentSets.model_validate(listed)
    assert [each["name"] for each in listed["experiments"]] == ["packed", "lab"]
    large = upload(operator, b"x" * (LARGEST_BYTES + 1), "large", 413)
    assert large["hint"] == "Split the file into several sets."
    operator.headers["Authorization"] = f"Bearer {VIEWER}"
    assert "operator" in upload(operator, measured.content, "other", 403)["detail"]
    assert operator.delete("/api/v1/experiments/lab").status_code == 403
    shown = operator.get("/api/v1/experiments/lab")
    described.ExperimentRuns.model_validate(shown.json())
    assert len(shown.json()["rows"]) == 288
    del operator.headers["Authorization"]
    assert operator.get("/api/v1/experiments").status_code == 401
    assert operator.get("/api/v1/experiments/lab").status_code == 401
    operator.headers["Authorization"] = f"Bearer {OPERATOR}"
    removed = operator.delete("/api/v1/experiments/lab")
    described.RemovedExperiments.model_validate(removed.json())
    for method in ("get", "delete"):
        response = getattr(operator, method)("/api/v1/experiments/lab")
        assert response.status_code == 404
        assert "There are no experiments 'lab'" in response.json()["detail"]
