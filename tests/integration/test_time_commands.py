"""GIVEN a store WHEN a person asks about time in a terminal THEN it is what the API would say."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

from services.cli import app
from storage.query.answers.answer import adapter
from storage.query.answers.movers import MoversAnswer
from storage.query.answers.series_columns import SeriesAnswer
from tests.brute_force_fleet import write_fleet

pytestmark = pytest.mark.integration

START = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
TIMES = ("--from", "2026-11-18T12:00:00Z", "--to", "2026-11-18T14:00:00Z")


@pytest.mark.slow
def test_series_and_movers_print_what_the_api_answers(
    engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    with engine.begin() as connection:
        fleet = write_fleet(connection, START, hours=2, visits=40)
    runner = CliRunner(env={"COLUMNS": "160", "TERM": "dumb"})

    def printed(*words: str, code: int = 0) -> str:
        result = runner.invoke(app, list(words))
        assert result.exit_code == code, result.output
        return result.output

    series = adapter(SeriesAnswer).validate_json(printed("series", *TIMES, "--step", "1h", "--json"))
    assert series.steps.start == ("2026-11-18T12:00:00Z", "2026-11-18T13:00:00Z")
    assert sum(series.lines[0].points.units) == fleet.units()
    shown = printed("series", *TIMES, "--by", "application", "--rows", "2")
    assert "2026-11-18 12:00" in shown
    assert "all others" in shown
    assert "1 more rows" in shown
    assert "Invalid duration" in printed("series", "--step", "soon", code=1)

    half = ("--from", "2026-11-18T13:00:00Z", "--to", "2026-11-18T14:00:00Z", "--before", "1h")
    movers = adapter(MoversAnswer).validate_json(printed("report", "movers", *half, "--json"))
    assert movers.base.from_ == "2026-11-18T12:00:00Z"
    assert movers.because is None
    assert "is detected with probability" in printed("report", "movers", *half)
    assert "No mover is reported" in printed("report", "movers", code=3)
