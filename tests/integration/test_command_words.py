"""GIVEN reports and queries WHEN any of their texts is wrong THEN what is said is in the words of a command line, not of the API."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import typer.main
from sqlalchemy import Engine
from typer.testing import CliRunner

from services.cli import _expected_errors, app
from tests.hardware_counter_fleet import write_counting_fleet

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
TIMES = ("--from", "2026-11-17T12:00:00Z", "--to", "2026-11-17T14:00:00Z")
ASKING = ("query", "callers", "lines", "series", "shared-code", "export")
OF_QUERIES = re.compile(r'(?<![\w."-])[a-z][a-z_]*=(?!["~=])')
"""A parameter as the API's queries spell it; a label's value stands in quotes, and is spelled alike everywhere."""
WRONG = ("", "function", "((", "a,a")
OF_ALL = {"--from", "--to", "--campaign", "--event", "--focus", "--ignore", "--hide", "--show", "--show-from"}
"""Options of nearly all commands, that one place reads: one wrong value of each is enough."""
ARGUMENTS = {
    "callers": ("main",),
    "lines": ("main",),
    "cpi": (),
    "platforms": ("Zen 3", "Skylake"),
    "feature": ("^mem",),
    "load-test": ("{}", '{application="batch"}'),
    "machine-types": ("Zen 3", "Skylake"),
    "interference": ("web",),
    "placement": ("web,batch",),
    "events": ("web",),
}
NEEDED = {"placement": ("--machines", "2")}
NOT_OURS = {"--output", "--prometheus", "--old-prometheus", "--new-prometheus"}
"""Files, and other servers' queries."""

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def run(module_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Run:
    with module_engine.begin() as connection:
        write_counting_fleet(connection, NOON)
    environment = {
        "FLEETPROF_DATABASE_URL": module_engine.url.render_as_string(hide_password=False),
        "FLEETPROF_STATE_DIR": str(tmp_path_factory.mktemp("state")),
        "COLUMNS": "300",
        "TERM": "dumb",
    }
    runner = CliRunner(env=environment)
    return lambda *words: runner.invoke(app, words)


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    # Typer's copy of click has no public types.
    root: Any = typer.main.get_command(app)
    yield from (((name,), root.commands[name]) for name in ASKING)
    yield from ((("report", name), command) for name, command in root.commands["report"].commands.items())


def asked_wrongly() -> Iterator[tuple[str, ...]]:
    for path, command in commands():
        arguments = ARGUMENTS.get(path[-1], ())
        base = (*NEEDED.get(path[-1], ()), *TIMES)
        texts = [parameter for parameter in command.params if parameter.type_descriptor.annotation is str]
        for option in (each for each in texts if each.param_type_name == "option"):
            if option.opts[0] not in NOT_OURS:
                texts_of = ("((",) if option.opts[0] in OF_ALL else WRONG
                yield from ((*path, *arguments, *base, option.opts[0], wrong) for wrong in texts_of)
        for place, _ in enumerate(each for each in texts if each.param_type_name == "argument"):
            for wrong in WRONG:
                words = [*arguments, "{}"][: max(len(arguments), place + 1)]
                words[place] = wrong
                yield (*path, *words, *base)


ALL = tuple(dict.fromkeys(asked_wrongly()))


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted({words[:2] if words[0] == "report" else words[:1] for words in ALL}))
def test_what_is_wrong_is_said_in_the_command_lines_words(run: Run, path: tuple[str, ...]) -> None:
    refused = 0
    for words in (words for words in ALL if words[: len(path)] == path):
        result = run(*words)
        assert result.exit_code in {0, 1, 2, 3}, (words, result.output)
        error = result.exception
        # What `main` says of errors that a command leaves to it.
        left = (
            "" if isinstance(error, SystemExit) or error is None else f"{error} {getattr(error, 'hint', '')}"
        )
        assert not left or isinstance(error, _expected_errors()), (words, error)
        refused += result.exit_code in {1, 2}
        said = result.output + left
        assert not OF_QUERIES.search(said), (words, said)
    assert refused, "nothing of this was wrong"


def test_it_is_the_commands_own_words(run: Run) -> None:
    for words, said in (
        (("report", "apu", "--by", "version", *TIMES), "--by one of"),
        (("report", "cpi", "--ratio", "speed", *TIMES), "two counters"),
        (("report", "cpi", "--step", "90m", *TIMES), "--step 1h, or --step 1d."),
        (("report", "composition", "--by", "function", *TIMES), "--by version, compiler"),
        (("report", "feature", "", *TIMES), "REGEX 'memcpy|memmove'"),
        (("report", "events", "", *TIMES), "APPLICATION checkout"),
        (("report", "interference", "", *TIMES), "TARGET checkout"),
        (("report", "frequency", "--mhz", "fast", *TIMES), "--mhz 1200,2000"),
        (("query", "--by", "file,file", *TIMES), "--by application,version"),
        (("query", "--from", "now", "--to", "now-1h"), "Set --from to a time before --to."),
        (("callers", "", *TIMES), "FUNCTION malloc"),
        (("export", "--labels", "function", *TIMES), "--labels application,version"),
    ):
        result = run(*words)
        assert result.exit_code == 1, (words, result.output)
        assert said in result.output, words
