"""The profiled programs: third-party ones where possible, each under its own name.

Each is a copy of (or a link to) the real executable. The kernel's name of the process selects it on perf's side, the
application label on ours, and no other process of the machine has either.
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
    """A requirement of the program is not installed; the sentence names it."""


@dataclass(frozen=True, slots=True)
class Program:
    """A command that runs until it is killed."""

    comm: str
    """The kernel's name of its processes, at most 15 bytes."""
    application: str
    """The label that the product must assign."""
    command: tuple[str, ...]
    starts_late: bool = False
    """Start it in the middle of the window."""
    also: tuple[str, ...] = ()
    """Other kernel names that its threads set."""
    original: str = ""
    """Base name of the file that its executable copies."""


def prepare(directory: Path, wanted: Sequence[str]) -> tuple[list[Program], list[str]]:
    """The programs by name of `RECIPES`, ready to run, and sentences about unavailable ones."""
    programs, missing = [], []
    for name in wanted:
        try:
            programs.extend(RECIPES[name](directory))
        except NotHere as reason:
            missing.append(f"{name}: {reason}")
    return programs, missing


def python(directory: Path) -> list[Program]:
    """The interpreter running a script: the application is the script, not the interpreter."""
    link = directory / "fp-python"
    link.symlink_to(Path(sys.executable).resolve())
    script = directory / "documents.py"
    shutil.copy(SOURCES / script.name, script)
    return [Program(link.name, script.name, (str(link), str(script)))]


def gzip(directory: Path) -> list[Program]:
    """Run gzip, stripped of symbols, repeatedly over the standard library's text."""
    text = directory / "text"
    with text.open("wb") as file:
        for source in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
            file.write(source.read_bytes())
    return [_copy(directory, "gzip", "-9", "-c", *([str(text)] * 1000))]


def perl(directory: Path) -> list[Program]:
    """Run perl: stripped, but with names of exported functions."""
    loop = "while (1) { my %h; $h{$_ % 977} .= $_ for 1..20000; my $t = join ',', sort keys %h; $t =~ s/(\\d+)/<$1>/g }"
    return [_copy(directory, "perl", "-e", loop)]


def dd(directory: Path) -> list[Program]:
    """Run `dd` with small blocks, mostly kernel time."""
    return [_copy(directory, "dd", "if=/dev/zero", "of=/dev/null", "bs=2k", "status=none")]


def gofmt(directory: Path) -> list[Program]:
    """Run gofmt over Go's own sources: frame pointers, threads, Go's symbol table."""
    go = _needed("go")
    root = subprocess.run([go, "env", "GOROOT"], capture_output=True, text=True, check=True).stdout.strip()
    return [_copy(directory, str(Path(root, "bin", "gofmt")), "-l", *([str(Path(root, "src"))] * 50))]


def c(directory: Path) -> list[Program]:
    """C with debug information: inlining, libm, string functions that glibc selects by CPU."""
    binary = _compiled(directory, "fp-c", "gcc", "-O2", "-g", SOURCES / "numeric.c", "-lm")
    return [Program(binary.name, binary.name, (str(binary),))]


def cplusplus(directory: Path) -> list[Program]:
    """C++ with debug information: templates of the standard library."""
    binary = _compiled(directory, "fp-cplusplus", "g++", "-O2", "-g", SOURCES / "containers.cpp")
    return [Program(binary.name, binary.name, (str(binary),))]


def rust(directory: Path) -> list[Program]:
    """Rust with debug information."""
    binary = _compiled(directory, "fp-rust", "rustc", "-O", "-g", SOURCES / "collections.rs")
    return [Program(binary.name, binary.name, (str(binary),))]


def deep(directory: Path) -> list[Program]:
    """Recursion deeper than stored stacks."""
    return [_shape(directory, "deep")]


def threads(directory: Path) -> list[Program]:
    """Three threads with names of their own."""
    return [_shape(directory, "threads", also=tuple(f"worker-{number}" for number in range(3)))]


def children(directory: Path) -> list[Program]:
    """A process that computes in a forked child, then in the next."""
    return [_shape(directory, "children")]


def late(directory: Path) -> list[Program]:
    """A program that starts in the middle of the window."""
    binary = _compiled(directory, "fp-late", "gcc", "-O2", "-g", SOURCES / "numeric.c", "-lm")
    return [Program(binary.name, binary.name, (str(binary),), starts_late=True)]


def short(directory: Path) -> list[Program]:
    """A shell that repeatedly starts a program of a millisecond; both are compared."""
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
