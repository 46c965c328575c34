"""GIVEN commands about functions WHEN what is typed means nothing THEN it is pointed at, and nobody is asked."""

import pytest
from typer.testing import CliRunner

from services.cli import app


@pytest.fixture
def run(monkeypatch):
    """Runs a command with a database that is not there."""
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", "postgresql://unused@127.0.0.1:1/none")
    runner = CliRunner(env={"COLUMNS": "300", "TERM": "dumb"})
    return lambda *words: runner.invoke(app, list(words))


@pytest.mark.parametrize(
    ("words", "option", "text", "caret"),
    [
        (["callers", '{function="x'], "FUNCTION", '{function="x', 10),
        (["callers", "f", '{app="x" b="y"}'], "SELECT", '{app="x" b="y"}', 9),
        (["callers", "f", "--focus", "a("], "--focus", "a(", 2),
        (["lines", '{application="x"}'], "FUNCTION", '{application="x"}', 1),
        (["shared-code", "--users", '{file=~"("}'], "--users", '{file=~"("}', 9),
        (["shared-code", "{a"], "SELECT", "{a", 2),
    ],
)
def test_a_mistake_is_pointed_at(run, words, option, text, caret):
    result = run(*words)
    assert result.exit_code == 1
    _, where, shown, pointer, *_ = result.output.splitlines()
    assert (where, shown, pointer) == (f"{option}:", f"  {text}", " " * (2 + caret) + "^")


@pytest.mark.parametrize("words", [["callers", ""], ["shared-code", "--users", ""]])
def test_a_function_must_be_said(run, words):
    result = run(*words)
    assert result.exit_code == 1
    assert "The function is missing" in result.output
