"""`python -m services.reference`: docs/cli.md, written from the commands themselves.

A test compares, so that the reference is never older than the program.
"""

import argparse
import inspect
import sys
from collections.abc import Iterator
from typing import Any

import typer.main

_HEAD = """# Commands

Written from the program by `python -m services.reference`. Every command answers `--help`. Exit codes: 0 done, 1 it
could not be done (one sentence on standard error says why and what to do), 2 the command line is wrong, 3 a report has no
answer (it says why instead: a typed reason and a sentence).

Commands that need a database or a broker take them from `FLEETPROF_DATABASE_URL` and `FLEETPROF_REDIS_URL`, or find the
`fleetprof up` that runs with the same state directory. Durations are written `10s`, `5m`, `1h`.
"""


def cli_reference() -> str:
    """The whole of docs/cli.md."""
    from gateway.options import build_parser  # noqa: PLC0415 - the gateway is an extra of its own
    from services.cli import app  # noqa: PLC0415

    parts = [_HEAD]
    for path, command in commands(typer.main.get_command(app), ("fleetprof",)):
        parts.append(_command(path, command))
    parts.append(_gateway(build_parser()))
    return "\n".join(parts)


# Typer has its own copy of click, with types that are not public: Any stands for its commands and parameters.


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command below this one but the gateway, which is a program of its own, with the words that call it."""
    if hasattr(command, "commands"):
        for name, child in command.commands.items():
            yield from commands(child, (*path, name))
    elif path[-1] != "gateway":
        yield path, command


def _command(path: tuple[str, ...], command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join([*path, *(_metavar(argument) for argument in arguments)])
    lines = [f"## `{usage}`", "", inspect.cleandoc(command.help or ""), ""]
    options = [p for p in command.params if p.param_type_name == "option" and "--help" not in p.opts]
    rows = [(_metavar(argument), _help(argument)) for argument in arguments if _help(argument)]
    rows += [(_spelled(option), _help(option)) for option in options]
    return "\n".join(lines + _table(rows))


def _gateway(parser: argparse.ArgumentParser) -> str:
    rows = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of them
        if action.option_strings and "--help" not in action.option_strings:
            value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
            rows.append((", ".join(action.option_strings) + value, (action.help or "") % _defaults(action)))
    lines = [
        "## `fleetprof-gateway`",
        "",
        inspect.cleandoc(parser.description or ""),
        "",
        "`fleetprof gateway` is the same.",
        "",
    ]
    return "\n".join(lines + _table(rows))


def _defaults(action: argparse.Action) -> dict[str, object]:
    return {
        "default": action.default,
        "prog": "fleetprof-gateway",
        "metavar": action.metavar,
        "dest": action.dest,
    }


def _metavar(argument: Any) -> str:
    name = (argument.metavar or argument.name or "").strip("[]").upper()
    return name if argument.required else f"[{name}]"


def _spelled(option: Any) -> str:
    value = "" if option.is_flag else f" {option.metavar or (option.name or '').strip('_').upper()}"
    return ", ".join([*option.opts, *option.secondary_opts]) + value


def _help(parameter: Any) -> str:
    text = " ".join((getattr(parameter, "help", None) or "").split())
    default = parameter.default
    if isinstance(default, (int, float, str)) and not isinstance(default, bool) and default != "":
        text += f" (default: {default})"
    return text


def _table(rows: list[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    escaped = [(name, text.replace("|", "\\|")) for name, text in rows]
    return ["| | |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in escaped), ""]


if __name__ == "__main__":
    sys.stdout.write(cli_reference())
