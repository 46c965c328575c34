"""GIVEN sets of experiments WHEN they are stored, replaced and backed up THEN each is whole or not there."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic import command
from fastapi.testclient import TestClient
from sqlalchemy import Connection, Engine, event, inspect, text
from sqlalchemy.exc import IntegrityError

from services.deployment.backup import dump, restore
from services.experiments.experiment_csv import read_experiments
from services.experiments.experiment_service import ExperimentService
from storage import calibrations, experiments, inventory, migrate
from storage.calibrations import Calibration, Kind
from storage.database import open_engine
from storage.errors import ExperimentsExist, TooManyExperiments, UnknownExperiments
from tests.conftest import administer, sibling
from tests.experiment_files import PEAK, PLATFORM, Lab, name
from tests.integration.experiments.fetch_experiments import upload

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


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
    assert "the limit is 1. Remove one" in problem["detail"]
    assert problem["type"] == "urn:fleetprof:problem:too-many"
    assert "already" in upload(operator, measured.content, "one", 409)["detail"]
    with engine.begin() as connection, pytest.raises(TooManyExperiments):
        experiments.keep(connection, "two", read_experiments(measured.content), replace=True)


def test_of_several_who_replace_a_set_the_last_one_has_it(engine: Engine, measured: Lab) -> None:
    service = ExperimentService(engine)
    lines = measured.text.splitlines()
    files = ["\n".join(lines[: len(lines) - number]).encode() for number in range(6)]
    committed: list[int] = []

    @event.listens_for(engine, "commit")
    def _(connection: Connection) -> None:
        # Whoever commits holds the lock still, so these are in the order in which the sets replaced each other.
        runs = connection.scalar(text("SELECT count(*) FROM experiment_run"))
        committed.append(int(runs or 0))

    with ThreadPoolExecutor(len(files)) as threads:
        added = list(threads.map(lambda content: service.add("lab", content, replace=True), files))
    assert [each["beside"] for each in added] == [240 - number for number in range(6)]
    assert sorted(committed) == [288 - number for number in range(5, -1, -1)]
    last = committed[-1]
    (kept,) = service.listing()["experiments"]
    assert kept["alone"] + kept["beside"] == last
    assert len(service.show("lab")["rows"]) == last


def test_what_is_told_of_a_set_is_of_one_moment(engine: Engine, database_url: str, measured: Lab) -> None:
    service, other_engine = ExperimentService(engine), open_engine(database_url, application="test")
    other, runs = ExperimentService(other_engine), measured.content
    service.add("lab", runs)
    few = "\n".join(measured.text.splitlines()[:-1]).encode()
    replaced: list[str] = []

    @event.listens_for(engine, "after_cursor_execute")
    def _(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        if not replaced and "FROM experiment_set" in statement:
            replaced.append(statement)
            other.add("lab", few, replace=True)

    try:
        for tell in (lambda: service.listing()["experiments"][0], lambda: service.show("lab")):
            replaced.clear()
            with other_engine.begin() as connection:
                experiments.keep(connection, "lab", read_experiments(runs), replace=True)
            found = tell()
            assert replaced
            assert (found["alone"], found["beside"]) == (48, 240)
            assert len(found.get("rows", range(288))) == 288
            assert service.listing()["experiments"][0]["beside"] == 239
    finally:
        other_engine.dispose()


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_revision_goes_up_and_down(engine: Engine, measured: Lab) -> None:
    runs = read_experiments(measured.content)
    config = migrate._config()
    with engine.begin() as connection:
        experiments.keep(connection, "lab", runs)
        calibrations.record(connection, Calibration(Kind.MEMORY_BANDWIDTH, PLATFORM, "", PEAK * 1e9))
    for target, there in (("0002", False), ("head", True)):
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
