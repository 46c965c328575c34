"""GIVEN a terminal of 80 columns WHEN a command is asked for help THEN nothing that one would type is cut or parted."""

import re
from enum import Enum
from typing import Any, Literal, get_args, get_origin

import pytest
import typer.main
from typer.testing import CliRunner

from services.cli import app
from services.command_line.cli_reference import commands

COMMANDS = dict(commands(typer.main.get_command(app), ()))


def shown(path: tuple[str, ...]) -> str:
    return CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80"}).output


def choices(annotation: object) -> list[str]:
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(member.value) for member in annotation]
    return list(get_args(annotation)) if get_origin(annotation) is Literal else []


def names(parameter: Any) -> set[str]:
    """What has to stand whole: spellings, choices, and each word that says what it is."""
    spelled = {*parameter.opts, *parameter.secondary_opts} if parameter.param_type_name == "option" else set()
    said = re.sub(r"[`*]", "", parameter.help or "").split()
    return {*spelled, *choices(parameter.type_descriptor.annotation), *said}


@pytest.mark.slow
@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_name_is_whole(path: tuple[str, ...]) -> None:
    parts = re.split(r"[\s│]+", re.sub(r"\*", "", shown(path)))
    words = {*parts, *(word for part in parts for word in re.findall(r"[\w-]+", part))}
    cut = {name for parameter in COMMANDS[path].params for name in names(parameter)} - words
    assert not cut
