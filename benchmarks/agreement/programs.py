"""The programs that are profiled: what others wrote where possible, each under a name of its own.

Each is a copy of (or a link to) the real executable, so that the kernel's name for the process selects it on
perf's side and the application label selects it on ours, and nothing else on the machine has either.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SOURCES: Final = Path(__file__).with_name("programs")


class NotHere(Exception):
    """What the program needs is not installed; the sentence says what."""


@dataclass(frozen=True, slots=True)
class Program:
    """A command that runs until it is killed."""

    comm: str
    """The kernel's name of its processes, at most 15 bytes."""
    application: str
    """The label that the product must find for it."""
    command: tuple[str, ...]
    starts_late: bool = False
    """Started when the window is half over."""
    also: tuple[str, ...] = ()
    """Other kernel names that threads of the process give themselves."""
    original: str = ""
    """Base name of the file that its executable is a copy of."""


def prepare(directory: Path, wanted: Sequence[str]) -> tuple[list[Program], list[str]]:
    """The programs by name of `RECIPES`, ready to run; and sentences about those that cannot be had here."""
    programs, missing = [], []
    for name in wanted:
        try:
            programs.extend(RECIPES[name](directory))
        except NotHere as reason:
            missing.append(f"{name}: {reason}")
    return programs, missing


def python(directory: Path) -> list[Program]:
    """Give the interpreter, by a script: the application is the script, not the interpreter."""
    link = directory / "fp-python"
    link.symlink_to(Path(sys.executable).resolve())
    script = directory / "documents.py"
    shutil.copy(SOURCES / script.name, script)
    return [Program(link.name, script.name, (str(link), str(script)))]


def gzip(directory: Path) -> list[Program]:
    """Give gzip, stripped of symbols, over the standard library's text again and again."""
    text = directory / "text"
    with text.open("wb") as file:
        for source in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
            file.write(source.read_bytes())
    return [_copy(directory, "gzip", "-9", "-c", *([str(text)] * 1000))]


def perl(directory: Path) -> list[Program]:
    """Give perl: stripped, but with the names of what it exports."""
    loop = "while (1) { my %h; $h{$_ % 977} .= $_ for 1..20000; my $t = join ',', sort keys %h; $t =~ s/(\\d+)/<$1>/g }"
    return [_copy(directory, "perl", "-e", loop)]


def dd(directory: Path) -> list[Program]:
    """Give dd with small blocks, which is mostly kernel."""
    return [_copy(directory, "dd", "if=/dev/zero", "of=/dev/null", "bs=2k", "status=none")]


def gofmt(directory: Path) -> list[Program]:
    """Give gofmt over Go's own sources: frame pointers, threads, a symbol table of Go's."""
    go = _needed("go")
    root = subprocess.run([go, "env", "GOROOT"], capture_output=True, text=True, check=True).stdout.strip()
    return [_copy(directory, str(Path(root, "bin", "gofmt")), "-l", *([str(Path(root, "src"))] * 50))]


def c(directory: Path) -> list[Program]:
    """Give C with debug information: inlining, libm, string functions that glibc picks by CPU."""
    binary = _compiled(directory, "fp-c", "gcc", "-O2", "-g", SOURCES / "numeric.c", "-lm")
    return [Program(binary.name, binary.name, (str(binary),))]


def cplusplus(directory: Path) -> list[Program]:
    """Give C++ with debug information: templates of the standard library."""
    binary = _compiled(directory, "fp-cplusplus", "g++", "-O2", "-g", SOURCES / "containers.cpp")
    return [Program(binary.name, binary.name, (str(binary),))]


def rust(directory: Path) -> list[Program]:
    """Give Rust with debug information."""
    binary = _compiled(directory, "fp-rust", "rustc", "-O", "-g", SOURCES / "collections.rs")
    return [Program(binary.name, binary.name, (str(binary),))]


def deep(directory: Path) -> list[Program]:
    """Give recursion deeper than the stacks that are stored."""
    return [_shape(directory, "deep")]


def threads(directory: Path) -> list[Program]:
    """Give three threads with names of their own."""
    return [_shape(directory, "threads", also=tuple(f"worker-{number}" for number in range(3)))]


def children(directory: Path) -> list[Program]:
    """Give a process that computes in a forked child, then in the next."""
    return [_shape(directory, "children")]


def late(directory: Path) -> list[Program]:
    """Give a program that starts when the window is half over."""
    binary = _compiled(directory, "fp-late", "gcc", "-O2", "-g", SOURCES / "numeric.c", "-lm")
    return [Program(binary.name, binary.name, (str(binary),), starts_late=True)]


def short(directory: Path) -> list[Program]:
    """Give a shell that starts a program of a millisecond over and over; both are looked at."""
    true = _copy(directory, "true")
    shell = _copy(directory, "dash", "-c", f"while :; do {true.command[0]}; done")
    return [shell, Program(true.comm, true.application, ())]


RECIPES: Final[dict[str, Callable[[Path], list[Program]]]] = {
    recipe.__name__: recipe
    for recipe in (python, gzip, perl, dd, gofmt, c, cplusplus, rust, deep, threads, children, late, short)
}


def _copy(directory: Path, program: str, *arguments: str) -> Program:
    original = Path(_needed(program)).resolve()
    copy = directory / f"fp-{original.name.rstrip('0123456789.')}"
    shutil.copy(original, copy)
    return Program(copy.name, copy.name, (str(copy), *arguments), original=original.name)


def _shape(directory: Path, shape: str, *, also: tuple[str, ...] = ()) -> Program:
    binary = _compiled(directory, f"fp-{shape}", "gcc", "-O2", "-g", "-pthread", SOURCES / "shapes.c")
    return Program(binary.name, binary.name, (str(binary), shape), also=also)


def _compiled(directory: Path, name: str, compiler: str, *arguments: str | Path) -> Path:
    binary = directory / name
    subprocess.run([_needed(compiler), "-o", binary, *arguments], check=True)
    return binary


def _needed(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise NotHere(f"{program} is not installed")
    return path
