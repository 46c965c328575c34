"""The name of the script, module or class that an interpreter runs, from its command line.

Arguments hold secrets, and nothing else of a command line leaves the machine. The name is the base name of the script,
a module or a class: the first argument that is not an option, or the value of an option like `-m`. By the
interpreter's grammar that is what runs, whatever its name (`python3 /usr/bin/gunicorn`). It is certain only if every
argument before it is understood, so there is no name for:

- code (`-c`, `-e`) and standard input (`-`, no argument), whatever follows;
- an argument after an unknown option: it may be that option's value;
- in Java an argument after an @file of arguments, which may contain the class. As the value of an option that takes a
  class path (`-cp @/app/jib-classpath-file`), such a file counts as the value;
- text that does not match `NAME`. Code and URLs do not.

Sources: python(1), node(1) and `node --v8-options`, ruby(1), perlrun(1), java(1) and IsWhiteSpaceOption in JDK's
java.c.
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
    """Where an option's value is, unless a pattern describes the joined value."""

    NEXT = "joined to it, or else the next argument"
    NAMED = "likewise, and it is what is run"


_NOTHING: Final = re.compile("")
_Letters = dict[str, re.Pattern[str] | _Value]


@dataclass(frozen=True, slots=True)
class _Interpreter:
    """The grammar of one interpreter's command line up to its script.

    - `alone`: options without a value; `valued`: with one after "=" or in the next argument; `named`: likewise, and the
      value is what runs; `prefixes`: an option that begins with one includes its value.
    - `letters`: short options that may be joined; `code`: options with code, and the interpreter's own commands.
    - `equals`: for other options, a value after "=" is complete. `dashes`: "--" ends the options.
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
    """`joined` maps a letter to the pattern of text that may be joined to it, before further letters."""
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
    """Return the script, module or main class that an interpreter runs; empty: no interpreter, or uncertain.

    `command_line` is /proc/PID/cmdline. A process that overwrote it, as setproctitle does, has no separate arguments
    and so no script. The last argument counts only if it is complete.
    """
    program = exe.rpartition("/")[2]
    for interpreter in _INTERPRETERS:
        if interpreter.program.match(program):
            arguments = command_line.decode("utf-8", "replace").split("\0")
            name = _find(interpreter, iter(arguments[1:-1]))
            # The class of Java's `module/class`.
            base = name.rstrip("/").rpartition("/")[2]
            return base if interpreter.name.fullmatch(base) else ""
    return ""


def _find(interpreter: _Interpreter, rest: Iterator[str]) -> str:
    """What runs, as written on the command line; "-" or empty: uncertain."""
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
    """The kind of the option's value, and the text joined to the option; None: unknown, or code.

    For joined options the last one decides: `-Im` is `-m` without a value so far, `-Xdev` is `-X` with dev.
    """
    option, equals, value = argument.partition("=")
    if option.startswith("--"):
        option = option.replace("_", "-")  # node accepts both
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
