"""GIVEN the commands that the web UI shows or copies WHEN the command line parses them THEN each is one of ours."""

import json
import re
import shlex
from pathlib import Path

import pytest
import typer.main

from services.cli import app
from services.command_line.cli_reference import commands

WEBUI = Path(__file__).parents[4] / "webui"
REPORTS: dict[str, str | None] = json.loads((WEBUI / "tests/pages/reports/commands.json").read_text("utf-8"))
"""By report; webui/tests/pages/reports/reports.test.ts compares them with what the pages copy."""
COMMANDS = dict(commands(typer.main.get_command(app), ()))
REMEDY = re.compile(r"['`]((?:[A-Z_]+=\S+ )?fleetprof \w+ [^'`]+ [^'`]+)['`]")


def remedies() -> list[str]:
    pages = sorted(WEBUI.glob("src/pages/reports/**/*.ts*"))
    found = [
        match[1] for page in pages for match in REMEDY.finditer(re.sub(r"\s+", " ", page.read_text("utf-8")))
    ]
    whole = [text for text in found if ".map(" not in text]  # a list of options made by code
    return [re.sub(r"\$\{\w+\}", "cpu", text) for text in whole]


def parse(text: str, files: Path) -> None:
    """Raises SystemExit or a usage error unless this is a command with its options and arguments."""
    words = shlex.split(text.rpartition(" | ")[2])
    words = words[words.index("fleetprof") + 1 :]
    path = next(path for size in (3, 2, 1) if (path := tuple(words[:size])) in COMMANDS)
    (files / "RUNS.csv").touch()
    own = [str(files / word) if word.endswith(".csv") else word for word in words[len(path) :]]
    COMMANDS[path].make_context(" ".join(path), own)


@pytest.mark.parametrize("text", [text for text in REPORTS.values() if text])
def test_the_command_of_a_report_parses(text: str, tmp_path: Path) -> None:
    parse(text, tmp_path)


def test_commands_that_bring_a_missing_input_parse(tmp_path: Path) -> None:
    found = remedies()
    assert len(found) >= 6
    for text in found:
        parse(text, tmp_path)


def test_an_unknown_option_does_not_parse(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="--platform"):
        parse("fleetprof report apu --platform x", tmp_path)
