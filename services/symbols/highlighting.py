"""Which parts of a source text are keywords, strings, comments …: Pygments, in a process of its own.

A text may be hostile, and Pygments' regular expressions take exponential time on some, so a child process with limits on
memory and CPU time reads it. A text without colours is still a text: whatever goes wrong, the answer says why.
"""

import json
import os
import posixpath
from dataclasses import dataclass
from typing import Final

from services.symbols import highlight_child
from symbolizer.limited_child import run_child

MOST_BYTES: Final = 1 << 20
"""Of a text, as UTF-8: SQLite's amalgamation would take ten seconds."""
_CHILD_BYTES: Final = 512 << 20
"""Address space of the child; Pygments and a text of a megabyte take 100 MB."""
_CPU_SECONDS: Final = 10

_LANGUAGES: Final = {
    "c": "c y",
    "cpp": "cc cpp cxx c++ h hh hpp hxx h++ inc inl ipp tcc def cu cuh l yy ll",
    "objective-c": "m",
    "objective-c++": "mm",
    "gas": "s",
    "nasm": "asm",
    "go": "go",
    "rust": "rs",
    "zig": "zig",
    "d": "d",
    "nim": "nim",
    "swift": "swift",
    "kotlin": "kt",
    "java": "java",
    "scala": "scala",
    "csharp": "cs",
    "fsharp": "fs",
    "ocaml": "ml mli",
    "haskell": "hs",
    "ada": "adb ads",
    "fortran": "f90 f95 f03 f08",
    "fortranfixed": "f for f77",
    "delphi": "pas",
    "python": "py",
    "cython": "pyx pxd",
    "ruby": "rb",
    "php": "php",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts tsx",
    "lua": "lua",
    "perl": "pl pm",
    "julia": "jl",
    "elixir": "ex",
    "erlang": "erl",
    "protobuf": "proto",
    "cobol": "cob",
}
_BY_ENDING: Final = {
    f".{ending}": language for language, endings in _LANGUAGES.items() for ending in endings.split()
}


@dataclass(frozen=True, slots=True)
class Highlighted:
    """The lines of a text in parts of a colour."""

    language: str
    """Pygments' name of the language; '': none."""
    lines: list[list[int]]
    """For each line length and class of its parts in turn, in UTF-16 code units; the rest of a line has no colour."""
    missing: str
    """Why there are no colours, a sentence; '': there are."""


def language_of(path: str) -> str:
    """Pygments' name of a file's language; '': unknown. C++'s standard headers have no ending."""
    ending = posixpath.splitext(path)[1]
    if ending == "":
        return "cpp" if "/c++/" in path else ""
    return _BY_ENDING.get(ending.lower(), "")


def highlighted(path: str, text: str) -> Highlighted:
    """The parts of a text of this path. Raises OSError if no process can be started."""
    language = language_of(path)
    if not language:
        return Highlighted("", [], f"The language of {posixpath.basename(path)[:100]} is not known.")
    content = text.encode("utf-8", "replace")
    if len(content) > MOST_BYTES:
        return _without(language, f"The text has {len(content):,} bytes; the limit is {MOST_BYTES:,}.")
    with open(os.memfd_create("source"), "w+b", buffering=0) as file:  # noqa: PTH123 - a descriptor
        file.write(content)
        arguments = [str(number) for number in (file.fileno(), _CHILD_BYTES, _CPU_SECONDS)]
        ended = run_child(highlight_child, [*arguments, language], [file.fileno()], seconds=3 * _CPU_SECONDS)
    if ended is None:
        return _without(language, f"The text was not read within {3 * _CPU_SECONDS} s.")
    if ended.status != 0:
        return _without(
            language,
            f"Reading the text ended early (status {ended.status} within {_CPU_SECONDS} CPU s and "
            f"{_CHILD_BYTES >> 20} MiB): {ended.last_error or 'no message'}",
        )
    return Highlighted(language, json.loads(ended.output), "")


def _without(language: str, why: str) -> Highlighted:
    return Highlighted(language, [], why)
