"""GIVEN `fleetprof query` WHEN it is asked for what cannot be told THEN it says so, and asks nobody."""

import pytest
from typer.testing import CliRunner

from services.cli import app
from services.queries import local_queries
from tests.unit.services.views.test_differences import COMPARED


@pytest.fixture
def ask(monkeypatch):
    """Runs `fleetprof query` with a database that is not there."""
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", "postgresql://fleetprof@127.0.0.1:1/none")
    monkeypatch.delenv("FLEETPROF_PRICE_PER_CORE_HOUR", raising=False)
    runner = CliRunner(env={"COLUMNS": "300", "TERM": "dumb"})
    return lambda *options: runner.invoke(app, ["query", *options])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (['{application="x"}', "--measure", "machines"], "known only for the whole fleet"),
        (["--measure", "cores", "--diff", "{}"], "which print shares"),
        (["--measure", "cores", "--reliability"], "which print shares"),
        (["--diff-from", "now-1d", "--reliability"], "does not apply to a comparison"),
    ],
)
def test_a_question_without_an_answer_is_refused_in_a_sentence(ask, options, said):
    result = ask(*options)
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize(
    ("options", "option", "text", "caret"),
    [
        (['{app="x" b="y"}'], "SELECT", '{app="x" b="y"}', 9),
        (["--diff", "{a"], "--diff", "{a", 2),
        (["--focus", "日本語 b**"], "--focus", "日本語 b**", 8),
        (["--show-from", "x\tb("], "--show-from", "x b(", 4),
        (["--by", '"a'], "--by", '"a', 0),
        (["--hide", "x" * 600], "--hide", "…" + "x" * 80 + "…", 41),
    ],
)
def test_a_mistake_is_pointed_at(ask, options, option, text, caret):
    result = ask(*options)
    assert result.exit_code == 1
    _, where, shown, pointer, *_ = result.output.splitlines()
    assert (where, shown, pointer) == (f"{option}:", f"  {text}", " " * (2 + caret) + "^")


def test_patterns_reach_both_sides_of_a_comparison(ask, monkeypatch):
    asked = []
    monkeypatch.setattr(local_queries, "diff", lambda _to, *sides: asked.extend(sides[:2]) or COMPARED)
    patterns = {"focus": "a", "ignore": "b", "hide": "c", "show": "d", "show_from": "e"}
    options = [text for name, value in patterns.items() for text in (f"--{name.replace('_', '-')}", value)]
    assert ask("--diff", '{app="y"}', *options).exit_code == 0
    assert [{name: getattr(side, name) for name in patterns} for side in asked] == [patterns, patterns]


def test_a_comparison_prints_both_sides(ask, monkeypatch):
    asked = []

    def diff(_url, selection, base, _by, _rows):
        asked.append((selection, base))
        return COMPARED

    monkeypatch.setattr(local_queries, "diff", diff)
    result = ask("--diff-from", "now-25h", "--diff-to", "now-24h")
    assert result.exit_code == 0
    now, base, *_ = result.output.splitlines()
    assert (now.split()[0], base.split()[0]) == ("now", "base")
    [(selection, other)] = asked
    assert other.end < selection.start, "the example of the help compares an hour with another one"
