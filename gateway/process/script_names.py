"""The name of what an interpreter runs, from its command line.

Arguments hold secrets, and a command line leaves the machine in no other way. What leaves is the base name of the script, a module
or a class: the first argument that is no option, or what an option like `-m` names, which by the interpreter's grammar is what it runs,
whatever it is called (`python3 /usr/bin/gunicorn`). That holds only if each argument before it is understood, so these have no name:

- code (`-c`, `-e`) and standard input (`-`, nothing at all), whatever follows;
- what stands behind an option that is not known here: it might be that option's value;
- in Java what stands behind an @file of arguments, which may hold the class already. As the value of an option, where
  it has a class path in it (`-cp @/app/jib-classpath-file`), such a file counts as that value;
- what does not look like a name: `NAME` says what does. Code and URLs do not.

Sources: python(1), node(1) and `node --v8-options`, ruby(1), perlrun(1), java(1) and IsWhiteSpaceOption in JDK's java.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from gateway.process.node_options import ALONE, VALUED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_NAME: Final = 128
NAME: Final = re.compile(rf"(?=.*\w)[\w.@+-]{{1,{MAX_NAME}}}")
_JAVA_NAME: Final = re.compile(
    rf"(?=.{{1,{MAX_NAME}}}$)([\w.@+-]+\.(jar|war|java)|[^\W\d][\w$]*(\.[^\W\d][\w$]*)*)"
)


class _Value(Enum):
    """Where an option's value is, if it is not a pattern of what may be joined to it."""

    NEXT = "joined to it, or else the next argument"
    NAMED = "likewise, and it is what is run"


_NOTHING: Final = re.compile("")
_Letters = dict[str, re.Pattern[str] | _Value]


@dataclass(frozen=True, slots=True)
class _Interpreter:
    """How one interpreter's command line reads up to its script.

    `alone` are options that have no value, `valued` those that have it behind "=" or as the next argument, `named` likewise,
    but it is what is run; what begins with one of `prefixes` is an option with its value. `letters` are short options that
    may be joined to each other. `code` are options that bring code, and the names of commands of its own. `equals`: of others it is
    certain that what is joined by "=" is all of their value. `dashes`: "--" ends the options.
    """

    program: re.Pattern[str]
    alone: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    code: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    letters: Mapping[str, re.Pattern[str] | _Value] = field(default_factory=dict)
    equals: bool = False
    dashes: bool = True
    name: re.Pattern[str] = NAME


def _letters(alone: str, valued: str, joined: Mapping[str, str], named: str = "") -> _Letters:
    """`joined` has patterns of what may be joined to a letter, behind which others go on."""
    found: _Letters = dict.fromkeys(alone, _NOTHING)
    found |= dict.fromkeys(valued, _Value.NEXT) | dict.fromkeys(named, _Value.NAMED)
    return found | {letter: re.compile(pattern, re.DOTALL) for letter, pattern in joined.items()}


_INTERPRETERS: Final = (
    _Interpreter(
        re.compile(r"(python|pypy)[0-9.]*$"),
        valued=frozenset({"--check-hash-based-pycs"}),
        letters=_letters("bBdEiIOPqRsStuvx3", "WXQ", {}, named="m"),
    ),
    _Interpreter(
        re.compile(r"(node|nodejs)[0-9.]*$"),
        alone=ALONE,
        valued=VALUED,
        code=frozenset({"--eval", "--print", "--entry-url", "--run", "--test", "--prof-process", "inspect"}
            | {"-e", "-p", "-pe"}),
        prefixes=("--no-",),
        equals=True,
    ),
    _Interpreter(
        re.compile(r"java$"),
        alone=frozenset(
            {"-jar", "-server", "-client", "-d64", "-showversion", "--show-version", "--enable-preview", "--dry-run"}
            | {"--validate-modules", "--show-module-resolution", "-ea", "-da", "-esa", "-dsa", "-verbose"}
            | {"-enableassertions", "-disableassertions", "-enablesystemassertions", "-disablesystemassertions"}
        ),
        valued=frozenset(
            {"-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules"}
            | {"--add-opens", "--add-exports", "--add-reads", "--limit-modules", "--patch-module", "--source"}
            | {"--enable-native-access"}
        ),
        named=frozenset({"-m", "--module"}),
        prefixes=(
            "-X", "-D", "-ea:", "-da:", "-enableassertions:", "-disableassertions:", "-verbose:", "-splash:",
            "-agentlib:", "-agentpath:", "-javaagent:",
        ),
        equals=True,
        dashes=False,
        name=_JAVA_NAME,
    ),
    _Interpreter(
        re.compile(r"j?ruby[0-9.]*$"),
        alone=frozenset({"--verbose", "--debug", "--jit", "--yjit", "--mjit", "--rjit"}),
        valued=frozenset({"--enable", "--disable", "--encoding", "--external-encoding", "--internal-encoding"}),
        prefixes=("--enable-", "--disable-", "--yjit-", "--debug-"),
        letters=_letters(
            "acdlnpsSUvwy",
            "CEIXr",
            {"0": "[0-7]*", "F": ".*", "K": ".?", "T": "[0-9]?", "W": ":.*|[0-9]?", "i": ".*", "x": ".*"},
        ),
    ),
    _Interpreter(
        re.compile(r"perl[0-9.]*$"),
        letters=_letters(
            "acfgnpsStTUwWX",
            "I",
            {"0": "[xX][0-9A-Fa-f]+|[0-7]*", "C": r"\S*", "D": r"\w*", "F": r"\S*", "M": ".+", "d": "[:=].*|"}
            | {"i": r"\S*", "l": "[0-7]*", "m": ".+", "x": ".*"},
        ),
    ),
)  # fmt: skip


def script_name(exe: str, command_line: bytes) -> str:
    """Return the script, module or main class that an interpreter runs; empty: no interpreter, or none that is certain.

    `command_line` is /proc/PID/cmdline. A process that has overwritten it, as setproctitle does, has no
    separate arguments any more, and so no script. The last argument counts only if it is whole.
    """
    program = exe.rpartition("/")[2]
    for interpreter in _INTERPRETERS:
        if interpreter.program.match(program):
            arguments = command_line.decode("utf-8", "replace").split("\0")
            name = _find(interpreter, iter(arguments[1:-1]))
            # Of Java's `module/class` the class.
            base = name.rstrip("/").rpartition("/")[2]
            return base if interpreter.name.fullmatch(base) else ""
    return ""


def _find(interpreter: _Interpreter, rest: Iterator[str]) -> str:
    """What is run, as the command line has it; "-" or empty: that is not certain."""
    for argument in rest:
        if argument == "--":
            return next(rest, "") if interpreter.dashes else ""
        if not argument.startswith("-") or argument == "-":
            return "" if argument in interpreter.code or argument.startswith("@") else argument
        kind, value = _read(interpreter, argument)
        if kind is None:
            return ""
        if kind is _Value.NAMED:
            return value or next(rest, "")
        if kind is _Value.NEXT and not value:
            next(rest, "")
    return ""


def _read(interpreter: _Interpreter, argument: str) -> tuple[re.Pattern[str] | _Value | None, str]:
    """Where the option's value is, and what is joined to it; None: it is not known, or code.

    Of options that are joined the last is meant: `-Im` is `-m` with nothing yet, `-Xdev` is `-X` with dev.
    """
    option, equals, value = argument.partition("=")
    if option.startswith("--"):
        option = option.replace("_", "-")  # node takes either
    if option in interpreter.code:
        return None, ""
    if option in interpreter.named:
        return _Value.NAMED, value
    if option in interpreter.valued:
        return (_NOTHING if equals else _Value.NEXT), ""
    if option in interpreter.alone or argument.startswith(interpreter.prefixes):
        return _NOTHING, ""
    if option.startswith("--"):
        return (_NOTHING if equals and interpreter.equals else None), ""
    return _read_letters(interpreter, argument)


def _read_letters(interpreter: _Interpreter, argument: str) -> tuple[re.Pattern[str] | _Value | None, str]:
    place = 1
    while place < len(argument):
        kind = interpreter.letters.get(argument[place])
        place += 1
        if kind is None or isinstance(kind, _Value):
            return kind, argument[place:]
        joined = kind.match(argument, place)
        if joined is None:
            return None, ""
        place = joined.end()
    return _NOTHING, ""
