"""The name of what an interpreter runs, from its command line.

Only a base name, module or class leaves this module. Arguments can hold secrets, so the code of `-c` and
`-e` is never a name, and nothing behind the script is looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MAX_NAME: Final = 128


@dataclass(frozen=True, slots=True)
class _Interpreter:
    """How one interpreter's command line reads up to its script.

    `valued` are options whose value is the next argument, `code` those that bring code instead of a
    script, `named` those whose next argument is what is run. `clusters`: short options may be joined.
    """

    program: re.Pattern[str]
    valued: frozenset[str] = frozenset()
    code: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    clusters: bool = False


_INTERPRETERS: Final = (
    _Interpreter(
        re.compile(r"(python|pypy)[0-9.]*$"),
        valued=frozenset({"-W", "-X", "--check-hash-based-pycs"}),
        code=frozenset({"-c"}),
        named=frozenset({"-m"}),
        clusters=True,
    ),
    _Interpreter(
        re.compile(r"(node|nodejs)[0-9.]*$"),
        valued=frozenset(
            {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"}
        ),
        code=frozenset({"-e", "--eval", "-p", "--print", "-pe"}),
    ),
    _Interpreter(
        re.compile(r"java$"),
        valued=frozenset(
            {
                "-cp",
                "-classpath",
                "--class-path",
                "-p",
                "--module-path",
                "--upgrade-module-path",
                "--add-modules",
            }
            | {"--add-opens", "--add-exports", "--add-reads", "--limit-modules", "--patch-module", "--source"}
        ),
        named=frozenset({"-jar", "-m", "--module"}),
    ),
    _Interpreter(
        re.compile(r"j?ruby[0-9.]*$"),
        valued=frozenset(
            {"-r", "-I", "-C", "-E", "--encoding", "--external-encoding", "--internal-encoding"}
        ),
        code=frozenset({"-e"}),
    ),
    _Interpreter(
        re.compile(r"perl[0-9.]*$"),
        valued=frozenset({"-I"}),
        code=frozenset({"-e", "-E"}),
        clusters=True,
    ),
)


def script_name(exe: str, command_line: bytes) -> str:
    """Return the script, module or main class that an interpreter runs; empty: no interpreter, or none.

    `command_line` is /proc/PID/cmdline. A process that has overwritten it, as setproctitle does, has no
    separate arguments any more, and so no script.
    """
    program = exe.rpartition("/")[2]
    for interpreter in _INTERPRETERS:
        if interpreter.program.match(program):
            arguments = command_line.decode("utf-8", "replace").split("\0")
            return _base_name(_find(interpreter, arguments[1:]))[:MAX_NAME]
    return ""


def _find(interpreter: _Interpreter, arguments: list[str]) -> str:
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            return next(rest, "")
        if not argument.startswith("-") or argument == "-":
            # Java reads more options from an @file.
            if argument.startswith("@") or argument in {"", "-"}:
                continue
            return argument
        option, value = _split(interpreter, argument)
        if option in interpreter.code:
            return ""
        if option in interpreter.named:
            return value or next(rest, "")
        if option in interpreter.valued and not value:
            next(rest, "")
    return ""


def _split(interpreter: _Interpreter, argument: str) -> tuple[str, str]:
    """Return the option and the value joined to it.

    `--eval=x` is `--eval` with x, and where short options may be joined, `-Im` is `-m` with nothing yet,
    `-Xdev` is `-X` with dev.
    """
    if argument.startswith("--"):
        option, _, value = argument.partition("=")
        return option, value
    if interpreter.clusters:
        takers = interpreter.valued | interpreter.code | interpreter.named
        for place, letter in enumerate(argument[1:], 1):
            if f"-{letter}" in takers:
                return f"-{letter}", argument[place + 1 :]
    return argument, ""


def _base_name(name: str) -> str:
    """Return the last part of a path; of Java's `module/class` that is the class."""
    return name.rstrip("/").rpartition("/")[2]
