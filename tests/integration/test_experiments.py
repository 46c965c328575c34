"""GIVEN experiments with a known truth WHEN they are uploaded THEN mixes that nobody measured are foretold, and the answer says by what."""

import gzip
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alembic import command
from fastapi.testclient import TestClient
from sqlalchemy import Connection, Engine, event, inspect, text
from sqlalchemy.exc import IntegrityError

from services.api import experiments as described
from services.api.analysis.interference import InterferenceAnswer
from services.api.analysis.placement_advice import PlacementAnswer
from services.api.app import create_app
from services.api.auth import Access, parse_tokens
from services.api.problems import ProblemDocument
from services.backup import dump, restore
from services.cli import main
from services.experiments.desk import ExperimentDesk
from services.experiments.file import LARGEST_BYTES, read_experiments
from storage import calibrations, experiments, inventory, migrate
from storage.calibrations import Calibration, Kind
from storage.database import open_engine
from storage.errors import ExperimentsExist, TooManyExperiments, UnknownExperiments
from storage.query.engine import QueryEngine
from tests.conftest import administer, sibling
from tests.experiment_files import PEAK, PLATFORM, Lab, lab, name

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

VIEWER, OPERATOR = "v" * 24, "o" * 24
BASE = "http://127.0.0.1:7070"
TARGETS = (3, 7)
Json = dict[str, Any]
Fleetprof = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def measured() -> Lab:
    return lab(np.random.default_rng(5), TARGETS)


@pytest.fixture
def anyone(engine: Engine, tmp_path: Path) -> Iterator[TestClient]:
    access = Access(tmp_path / "state", parse_tokens([f"viewer:{VIEWER}", f"operator:{OPERATOR}"]))
    queries = QueryEngine(engine)
    desk = ExperimentDesk(engine)
    app = create_app(queries, access, static=tmp_path, experiments=desk, uploads=tmp_path / "uploads")
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


def upload(client: TestClient, content: bytes, called: str, status: int = 200, **query: str) -> Json:
    response = client.post("/api/v1/experiments", content=content, params={"name": called, **query})
    assert response.status_code == status, response.text
    model = described.AddedExperiments if status == 200 else ProblemDocument
    model.model_validate(response.json())
    return dict(response.json())


def asked(client: TestClient, **query: Any) -> Json:
    response = client.get("/api/v1/analysis/interference", params={"peak_gbs": PEAK, **query})
    assert response.status_code == 200, response.text
    InterferenceAnswer.model_validate(response.json())
    return dict(response.json())


def foretold(client: TestClient, measured: Lab, **query: Any) -> tuple[np.ndarray, np.ndarray]:
    """Errors of PD in mixes that nobody uploaded: of the function, and of the mean of the training mixes."""
    errors, plain = [], []
    for target, mixes in measured.unseen.items():
        for members in mixes:
            beside = ",".join(name(member) for member in members[1:])
            found = asked(client, target=name(target), beside=beside, **query)
            assert found["because"] is None, found["because"]
            assert found["source"]["trained_by"] == "experiments"
            if found["mix"]["because"] is not None:
                continue
            true = measured.true(members)
            errors.append(abs(found["mix"]["degradation"]["value"] - true))
            plain.append(abs(found["mix"]["baseline"] - true))
    return np.array(errors), np.array(plain)


@pytest.mark.parametrize("metric", ["cpi", "ipc", "time"])
def test_uploaded_over_http_they_foretell_unseen_mixes(operator: TestClient, metric: str) -> None:
    measured = lab(np.random.default_rng(5), TARGETS, metric=metric)
    added = upload(operator, measured.content, "lab-7")
    assert (added["alone"], added["beside"]) == (48, 240)
    assert added["unknown_platforms"] == [PLATFORM]
    assert added["added_by"].startswith("operator")
    errors, plain = foretold(operator, measured, experiments="lab-7")
    assert len(errors) >= 36
    assert errors.mean() <= 0.02
    assert errors.mean() < plain.mean() / 2
    found = asked(operator, target=name(3), experiments="lab-7")
    assert found["source"] == {
        "trained_by": "experiments",
        "experiments": "lab-7",
        "visits": 0,
        "runs": 120,
        "instead_of_visits": None,
    }
    assert found["chip"]["platform"] == PLATFORM
    assert found["inputs"]["used"] == 0
    solo = found["solo"]
    assert (solo["runs"], solo["visits"], solo["cores"]) == (2, 0, 1.0)
    assert (solo["cpi"] is None) == (metric == "time")
    assert (solo["time_s"] is None) == (metric != "time")
    assert solo["time_s" if metric == "time" else "cpi"] == pytest.approx(1.25, rel=0.02)
    assert len(found["neighbours"]) == 24
    assert found["error"] < found["baseline_error"]


def test_added_by_the_command_line_they_foretell_unseen_mixes(
    fleetprof: Fleetprof, operator: TestClient, measured: Lab, tmp_path: Path
) -> None:
    path = tmp_path / "lab-7.csv"
    path.write_text(measured.text)
    code, out, err = fleetprof("experiments", "add", path)
    assert code == 0, err
    assert "lab-7: 48 runs alone and 240 beside others" in out
    assert f"targets {name(3)} (120), {name(7)} (120)" in out
    assert f"No machine of the inventory has the platform '{PLATFORM}'" in err
    errors, plain = foretold(operator, measured, experiments="lab-7")
    assert errors.mean() <= 0.02
    assert errors.mean() < plain.mean() / 2
    beside = ",".join(name(member) for member in measured.unseen[3][0][1:])
    words = ("report", "interference", name(3), "--beside", beside, "--experiments", "lab-7")
    code, out, err = fleetprof(*words, "--peak-gbs", PEAK)
    assert code == 0, err
    assert f"{name(3)} beside {beside} takes longer than alone by " in out
    assert "in a run, 95 %; the mean of all training mixes would say" in out
    assert "trained by 120 runs of the experiments lab-7; the fleet's visits have no part in it" in out
    assert "120 runs beside known neighbours: the function errs by" in out
    assert "lines are whichever the experiments counted" in out
    code, out, _ = fleetprof(*words)
    assert code == 3
    assert "Cannot say, too_little: Nobody knows how much the memory" in out
    assert fleetprof("calibrate", "set", "memory-bandwidth", PLATFORM, str(PEAK * 1e9))[0] == 0
    assert fleetprof(*words)[0] == 0
    code, _, err = fleetprof(*words[:-1], "lab-8", "--peak-gbs", PEAK)
    assert code == 1
    assert "There are no experiments 'lab-8'." in err
    assert "fleetprof experiments list" in err


def test_sets_are_listed_shown_and_removed(fleetprof: Fleetprof, measured: Lab, tmp_path: Path) -> None:
    assert "No experiments are kept" in fleetprof("experiments", "list")[1]
    path = tmp_path / "x.csv"
    path.write_text(measured.text)
    assert fleetprof("experiments", "add", path, "--name", "one")[0] == 0
    code, _, err = fleetprof("experiments", "add", path, "--name", "one")
    assert code == 1
    assert "There are experiments of the name 'one' already." in err
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
    assert fleetprof("experiments", "remove", "one") == (0, "one is removed.\n", "")
    for words in (("show", "one"), ("remove", "one")):
        code, _, err = fleetprof("experiments", *words)
        assert code == 1
        assert "There are no experiments 'one'; see: fleetprof experiments list" in err


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
    assert "column metric: 'nan' is no metric; write time, cpi, ipc" in err
    assert "column mlines_per_s: 'x" in err
    problem = upload(operator, wrong.encode(), "lab", 422)
    assert "column metric: 'nan' is no metric" in problem["detail"]
    assert problem["type"] == "urn:fleetprof:problem:unusable-file"
    assert "Nothing was kept" in problem["hint"]
    assert "is no name of experiments" in upload(operator, measured.content, "a/b", 422)["detail"]
    assert "is no name of experiments" in upload(operator, measured.content, "", 422)["detail"]
    code, _, err = fleetprof("experiments", "add", tmp_path / "none.csv")
    assert code == 2
    assert "cannot be read" in err
    with engine.connect() as connection:
        assert experiments.sets(connection) == ()


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


def test_where_visits_cannot_say_the_newest_experiments_do_and_it_is_told(
    operator: TestClient, fleetprof: Fleetprof, measured: Lab
) -> None:
    before = asked(operator, target=name(3))
    assert before["source"]["trained_by"] == "visits"
    assert before["because"]["detail"] == "No visit of the selection has landed."
    upload(operator, measured.content, "old")
    few = "\n".join(measured.text.splitlines()[:-239]).encode()
    upload(operator, few, "new")
    found = asked(operator, target=name(3))
    assert found["because"] is None
    assert found["source"]["experiments"] == "old"
    assert found["source"]["instead_of_visits"] == before["because"]
    code, out, _ = fleetprof("report", "interference", name(3), "--peak-gbs", PEAK)
    assert code == 0
    assert "visits cannot say, too_little: No visit of the selection has landed." in out
    named = asked(operator, target=name(3), experiments="new")
    assert named["because"]["reason"] == "too_little"
    assert "The experiments new cannot tell" in named["because"]["detail"]
    assert asked(operator, target=name(3), platform="Z80")["source"]["trained_by"] == "visits"
    operator.delete("/api/v1/experiments/old")
    both = asked(operator, target=name(3))["because"]
    assert both["detail"].startswith(
        "No visit of the selection has landed. The experiments new cannot tell: "
    )
    gone = asked(operator, target=name(9), experiments="new")["because"]["detail"]
    assert gone == f"The experiments new have no run of 'p09' beside others on {PLATFORM}; they have p03."
    unknown = operator.get("/api/v1/analysis/interference", params={"target": "x", "experiments": "none"})
    assert unknown.status_code == 400
    assert unknown.json()["parameter"] == "experiments"


def test_a_mix_of_strangers_and_cores(operator: TestClient, measured: Lab) -> None:
    upload(operator, measured.content, "lab")
    mix: Json = {"target": name(3), "experiments": "lab"}
    stranger = asked(operator, beside="nobody", **mix)["mix"]["because"]["detail"]
    assert stranger.startswith(
        "Nobody knows how much nobody presses: the experiments lab have no run of it alone"
    )
    once = asked(operator, beside=f"{name(5)},{name(6)}", **mix)["mix"]
    same = asked(operator, beside=f"{name(5)}:1,{name(6)}:1", **mix)["mix"]
    assert once == same
    twice = asked(operator, beside=f"{name(5)}:2,{name(6)}", **mix)["mix"]
    both = asked(operator, beside=f"{name(5)},{name(5)},{name(6)}", **mix)["mix"]
    assert twice["lines"] == pytest.approx(both["lines"])
    assert twice["lines"] > once["lines"]


def test_experiments_place_programs(operator: TestClient, fleetprof: Fleetprof) -> None:
    everyone = tuple(range(8))
    measured = lab(np.random.default_rng(5), everyone, training=60, unseen=1)
    upload(operator, measured.content, "lab")
    tenants = ",".join(f"{name(program)}:5" for program in everyone)
    query: Json = {"tenants": tenants, "machines": 2, "slots": 4, "peak_gbs": PEAK, "experiments": "lab"}
    response = operator.get("/api/v1/analysis/placement", params=query)
    assert response.status_code == 200, response.text
    found = response.json()
    PlacementAnswer.model_validate(found)
    assert found["because"] is None, found["because"]
    assert found["source"]["experiments"] == "lab"
    assert found["source"]["runs"] == 480
    assert sorted(row["machine"] for row in found["rows"]) == [0, 0, 0, 0, 1, 1, 1, 1]
    said = 0
    for row, program in zip(found["rows"], everyone, strict=True):
        at = row["machine"]
        mates = [
            other
            for other, place in zip(everyone, found["rows"], strict=True)
            if place["machine"] == at and other != program
        ]
        if row["degradation"] is not None:
            said += 1
            true = measured.true(np.array([program, *mates]))
            assert row["degradation"] == pytest.approx(true, abs=0.05), (program, mates)
    assert said >= 6
    words = ("report", "placement", tenants, "--machines", "2", "--slots", "4", "--peak-gbs", PEAK)
    code, out, _ = fleetprof(*words, "--experiments", "lab")
    assert code == 0
    assert "trained by 480 runs of the experiments lab" in out
    lacking = operator.get(
        "/api/v1/analysis/placement", params={**query, "tenants": f"{tenants},{name(12)}"}
    ).json()
    assert "have no run of 'p12' beside others" in lacking["because"]["detail"]
    # Without a name: visits cannot say, and one set can say it of all.
    del query["experiments"]
    automatic = operator.get("/api/v1/analysis/placement", params=query).json()
    assert automatic["source"]["experiments"] == "lab"
    assert automatic["source"]["instead_of_visits"]["reason"] == "too_little"
    assert [row["machine"] for row in automatic["rows"]] == [row["machine"] for row in found["rows"]]


def test_a_set_is_kept_whole_and_gone_whole(engine: Engine, measured: Lab) -> None:
    runs = read_experiments(measured.content)
    with engine.begin() as connection:
        inventory.add(connection, inventory.NewMachine("m1", "unix:/none"))
        kept = experiments.keep(connection, "lab", runs, added_by="somebody")
        (part,) = kept.parts
        assert (part.platform, part.alone, part.beside) == (PLATFORM, 48, 240)
        assert part.targets == ((name(3), 120), (name(7), 120))
        assert len(part.programs) == 24
        assert kept.has_all((name(3), name(7)))
        assert not kept.has_all((name(3), name(5)))
        assert not kept.on("Z80".__eq__).has_all((name(3),))
        assert experiments.read(connection, kept.set_id) == runs
        assert experiments.read(connection, kept.set_id, "Z80") == ()
        with pytest.raises(ExperimentsExist):
            experiments.keep(connection, "lab", runs)
        again = experiments.keep(connection, "lab", runs[:-1], replace=True)
        assert experiments.read(connection, again.set_id) == runs[:-1]
        assert experiments.read(connection, kept.set_id) == ()
        experiments.remove(connection, "lab")
        assert connection.scalar(text("SELECT count(*) FROM experiment_run")) == 0
        with pytest.raises(UnknownExperiments):
            experiments.find(connection, "lab")


def test_sets_have_an_end(
    operator: TestClient, engine: Engine, measured: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiments, "MOST_SETS", 1)
    upload(operator, measured.content, "one")
    upload(operator, measured.content, "one", replace="true")
    problem = upload(operator, measured.content, "two", 409)
    assert "1 at most are kept; remove one" in problem["detail"]
    assert problem["type"] == "urn:fleetprof:problem:too-many"
    assert "already" in upload(operator, measured.content, "one", 409)["detail"]
    with engine.begin() as connection, pytest.raises(TooManyExperiments):
        experiments.keep(connection, "two", read_experiments(measured.content), replace=True)


def test_of_several_who_replace_a_set_the_last_one_has_it(engine: Engine, measured: Lab) -> None:
    desk = ExperimentDesk(engine)
    lines = measured.text.splitlines()
    files = ["\n".join(lines[: len(lines) - number]).encode() for number in range(6)]
    committed: list[int] = []

    @event.listens_for(engine, "commit")
    def _(connection: Connection) -> None:
        # Whoever commits holds the lock still, so these are in the order in which the sets replaced each other.
        runs = connection.scalar(text("SELECT count(*) FROM experiment_run"))
        committed.append(int(runs or 0))

    with ThreadPoolExecutor(len(files)) as threads:
        added = list(threads.map(lambda content: desk.add("lab", content, replace=True), files))
    assert [each["beside"] for each in added] == [240 - number for number in range(6)]
    assert sorted(committed) == [288 - number for number in range(5, -1, -1)]
    last = committed[-1]
    (kept,) = desk.listing()["experiments"]
    assert kept["alone"] + kept["beside"] == last
    assert len(desk.show("lab")["rows"]) == last


def test_what_is_told_of_a_set_is_of_one_moment(engine: Engine, database_url: str, measured: Lab) -> None:
    desk, other_engine = ExperimentDesk(engine), open_engine(database_url, application="test")
    other, runs = ExperimentDesk(other_engine), measured.content
    desk.add("lab", runs)
    few = "\n".join(measured.text.splitlines()[:-1]).encode()
    replaced: list[str] = []

    @event.listens_for(engine, "after_cursor_execute")
    def _(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        if not replaced and "FROM experiment_set" in statement:
            replaced.append(statement)
            other.add("lab", few, replace=True)

    try:
        for tell in (lambda: desk.listing()["experiments"][0], lambda: desk.show("lab")):
            replaced.clear()
            with other_engine.begin() as connection:
                experiments.keep(connection, "lab", read_experiments(runs), replace=True)
            found = tell()
            assert replaced
            assert (found["alone"], found["beside"]) == (48, 240)
            assert len(found.get("rows", range(288))) == 288
            assert desk.listing()["experiments"][0]["beside"] == 239
    finally:
        other_engine.dispose()


@pytest.mark.parametrize(
    "wrong",
    [
        "'{}', 'cpi', 1, NULL, 1, 1",
        "'{}', 'cpi', NULL, 1, 1, 1",
        "'{a}', 'cpi', 1, 1, NULL, NULL",
        "'{a}', NULL, NULL, NULL, NULL, NULL",
        "'{a}', 'speed', 1, NULL, NULL, NULL",
        "'{a}', 'cpi', 'nan', NULL, NULL, NULL",
        "'{a}', 'cpi', 0, NULL, NULL, NULL",
        "'{}', 'cpi', 1, 'infinity', 1, 1",
        "'{}', NULL, NULL, 1, -1, 1",
        "'{}', NULL, NULL, 1, 1, 'nan'",
    ],
)
def test_the_database_refuses_what_is_no_run(engine: Engine, wrong: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO experiment_set (name) VALUES ('x')"))
    with engine.begin() as connection, pytest.raises(IntegrityError):
        connection.execute(
            text(
                "INSERT INTO experiment_run (set_id, line, platform, target, beside, metric, value, lines, gigabytes, cores)"
                f" SELECT set_id, 2, 'p', 't', {wrong} FROM experiment_set"
            )
        )


def test_the_revision_goes_up_and_down(engine: Engine, measured: Lab) -> None:
    runs = read_experiments(measured.content)
    config = migrate._config()
    with engine.begin() as connection:
        experiments.keep(connection, "lab", runs)
        calibrations.record(connection, Calibration(Kind.MEMORY_BANDWIDTH, PLATFORM, "", PEAK * 1e9))
    for target, there in (("0002", False), ("0003", True)):
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            (command.downgrade if target == "0002" else command.upgrade)(config, target)
        tables = set(inspect(engine).get_table_names())
        assert ({"experiment_set", "experiment_run"} <= tables) is there
        assert "calibration" in tables
    with engine.begin() as connection:
        assert migrate.differences(connection) == []
        # Experiments are gone with their tables, and nothing else is.
        assert experiments.sets(connection) == ()
        (left,) = calibrations.read(connection, Kind.MEMORY_BANDWIDTH)
        assert (left.platform, left.value) == (PLATFORM, PEAK * 1e9)
        kept = experiments.keep(connection, "lab", runs)
        assert experiments.read(connection, kept.set_id) == runs


def test_a_dump_has_them(engine: Engine, postgres_url: str, measured: Lab, tmp_path: Path) -> None:
    runs = read_experiments(measured.content)
    with engine.begin() as connection:
        experiments.keep(connection, "lab", runs)
        calibrations.record(connection, Calibration(Kind.MEMORY_BANDWIDTH, PLATFORM, "", PEAK * 1e9))
    dump(engine.url.render_as_string(hide_password=False), tmp_path / "dump")
    administer(postgres_url, "CREATE DATABASE restored_experiments")
    other = open_engine(sibling(postgres_url, "restored_experiments"), application="test")
    try:
        restore(other.url.render_as_string(hide_password=False), tmp_path / "dump")
        with other.begin() as connection:
            assert experiments.read(connection, experiments.find(connection, "lab").set_id) == runs
            # Numbers go on behind those that were restored.
            experiments.keep(connection, "next", runs)
    finally:
        other.dispose()
        administer(postgres_url, "DROP DATABASE restored_experiments")
