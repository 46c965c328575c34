"""GIVEN a lake WHEN its database is restored from an older dump, or begun anew THEN no day is lost or mixed with another's."""

from datetime import date, timedelta

import pytest
from sqlalchemy import delete, update
from structlog.testing import capture_logs
from typer.testing import CliRunner

from collector.events import LakeMaintained
from collector.lake import LakeTerms, maintain_lake
from services.cli import app
from storage import identity
from storage.errors import BadSelection
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from storage.schema import capture, database_identity
from storage.segments import manifest
from storage.segments.duck import Limits
from storage.segments.due_days import Waiting, look
from storage.segments.errors import LakeAhead
from storage.segments.export import export_day
from tests.small_lake import DAY, DAYS, LATER, WHOLE, Drawn, Store, minutes

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("without_cells"), pytest.mark.slow]

ALL = [DAY + timedelta(days=n) for n in range(DAYS)]


@pytest.fixture
def store(store: Store) -> Store:
    store.ingest([Drawn(237 * n) for n in range(1, 18)])
    store.export()
    return store


def lose(store: Store, day: date) -> None:
    """As if the dump were from before the day's last capture ingested."""
    with store.engine.begin() as connection:
        connection.execute(update(capture).where(capture.c.day == day).values(ingested=0))


def restore(store: Store) -> None:
    with store.engine.begin() as connection:
        identity.renew(connection)


def begin_anew(store: Store) -> None:
    with store.engine.begin() as connection:
        connection.execute(delete(database_identity))
        identity.renew(connection)


def waiting(store: Store) -> Waiting:
    with store.engine.connect() as connection:
        return look(connection, store.lake, LATER)


def test_a_day_of_which_the_lake_has_more_is_kept(store: Store):
    before = [manifest.read(store.lake, day) for day in ALL]
    lose(store, ALL[1])
    restore(store)
    found = waiting(store)
    assert found.due == (ALL[0], ALL[2]), "their ids may now mean others than before the restore"
    assert list(found.kept) == [ALL[1]]
    with pytest.raises(LakeAhead, match="captures"):
        export_day(store.engine, store.lake, ALL[1])
    events: list[LakeMaintained] = []
    with capture_logs() as said:
        maintain_lake(
            store.engine, LakeTerms(store.lake, 36_500, Limits()), LATER, lambda: False, events.append
        )
    assert [(line["day"], line["log_level"]) for line in said if "why" in line] == [(str(ALL[1]), "error")]
    assert events[-1] == LakeMaintained(due=0, kept=1, whole=True)
    assert manifest.read(store.lake, ALL[1]) == before[1]
    assert manifest.read(store.lake, ALL[0]).facts == before[0].facts
    assert waiting(store).due == ()
    assert export_day(store.engine, store.lake, ALL[1], replace=True).ingested.captures == 0
    assert waiting(store) == Waiting((), {}, {})


def test_a_database_begun_anew_replaces_nothing(store: Store):
    begin_anew(store)
    found = waiting(store)
    assert found.due == ()
    assert all("another database" in why for why in found.kept.values())
    assert list(found.kept) == ALL
    store.ingest([Drawn(5)])
    with pytest.raises(LakeAhead, match="another database"):
        export_day(store.engine, store.lake, DAY)


def test_days_of_two_databases_are_not_answered_together(store: Store):
    lose(store, ALL[0])
    restore(store)
    store.export(1, 2)
    with pytest.raises(BadSelection, match="2026-11-10, 2026-11-11 to 2026-11-12"):
        store.duckdb.ask(TableQuestion(minutes(0, WHOLE), ("function",), Page()))
    store.check(TableQuestion(minutes(1440, WHOLE), ("function",), Page()))
    former = store.duckdb.ask(TableQuestion(minutes(0, 1440), ("function",), Page()))
    assert former.days == (ALL[0],)


def test_commands_say_so_and_replace_when_told(
    store: Store, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    monkeypatch.setenv("FLEETPROF_LAKE_URL", store.lake.root)
    monkeypatch.setenv("FLEETPROF_STATE_DIR", f"{store.lake.root}-state")
    lose(store, DAY)

    def run(*words: str) -> tuple[int, str]:
        result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["lake", *words])
        return result.exit_code, result.output

    assert "To replace it: fleetprof lake export --replace" in run("status")[1]
    for words in (["export"], ["export", "--again"]):
        status, said = run(*words)
        assert status == 1
        assert "The lake has" in said
    assert manifest.read(store.lake, DAY).ingested.captures > 0
    assert run("export", "--replace", "--to", str(DAY))[0] == 0
    assert manifest.read(store.lake, DAY).ingested.captures == 0
    assert "replaced" not in run("status")[1]
