"""GIVEN a store WHEN a person asks about a function in a terminal THEN it is what the API would say."""

import json
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

from services.cli import app
from storage.query.answers.answer import adapter
from storage.query.answers.callers import CallersAnswer
from storage.query.answers.lines import LinesAnswer
from storage.query.answers.shared_code import SharedCodeAnswer, UsersAnswer
from tests.fact_writer import FactWriter

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TIMES = ("--from", "2026-11-21T11:00:00Z", "--to", "2026-11-21T13:00:00Z")


@pytest.mark.slow
def test_commands_about_functions_print_what_the_api_answers(
    engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    monkeypatch.setenv("FLEETPROF_PRICE_PER_CORE_HOUR", "0.04")
    with engine.begin() as connection:
        write = FactWriter(connection)
        main, crc = (
            write.function("main", binary="prog"),
            write.function("crc32", file="crc.c", binary="libz"),
        )
        stacks = write.stack([main]), write.stack([main, crc])
        for name in ("one", "two"):
            samples = dict(zip(stacks, (990, 10), strict=True))
            labels = {"application": name}
            write.profile(write.visit(name, NOON), samples, labels=labels, lines={(crc, 7): (9, 9)})
    runner = CliRunner(env={"COLUMNS": "160", "TERM": "dumb"})

    def printed(*words: str) -> str:
        result = runner.invoke(app, [*words, *TIMES])
        assert result.exit_code == 0, result.output
        return result.output

    callers = printed("callers", "crc32", '{application="one"}')
    assert "crc32  self 1.0 %" in callers
    assert "main" in callers
    assert "main" in printed("callers", '{binary="libz"}', "--tree")
    adapter(CallersAnswer).validate_json(printed("callers", "crc32", "--json"))
    assert "The line is unknown for 10.0 % of self." in printed("lines", "crc32")
    assert json.loads(printed("lines", '{file="crc.c"}', "--json"))["rows"][0]["line"] == 7
    adapter(LinesAnswer).validate_json(printed("lines", "crc32", "--json"))
    shared = printed("shared-code", "--by", "binary")
    assert "libz" in shared
    assert "prog" not in shared.splitlines()[2]
    priced = adapter(SharedCodeAnswer).validate_json(printed("shared-code", "--json"))
    assert (priced.price_per_core_hour, priced.rows[0].applications) == (0.04, 2)
    users = printed("shared-code", "--users", "crc32")
    assert "one" in users
    assert "main 100.0 %" in users
    adapter(UsersAnswer).validate_json(printed("shared-code", "--users", "crc32", "--json"))
    assert "crc32" in printed("query", "--by", "function,line")
