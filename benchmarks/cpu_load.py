"""Third-party programs that keep every CPU busy during a measurement."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PYTHON: Final = """
import json, re
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
while True:
    fib(15)
    text = json.dumps([{"a": n} for n in range(300)])
    sorted(re.findall("[0-9]+", text), key=lambda digits: -int(digits))
"""
_NODE: Final = """
const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
for (let sum = 0;;) {
  sum += fib(15) + [...Array(50).keys()].map(n => n * sum % 7).sort((a, b) => b - a).length;
  JSON.parse(JSON.stringify({a: [1, 2, {b: 'x'.repeat(100)}]}));
  'abc123def'.replace(/[0-9]+/g, digits => digits + digits);
}
"""
# They run until they are ended. openssl's longest test outlasts every benchmark.
_PROGRAMS: Final = (
    ("python3", ("-c", _PYTHON), os.devnull),
    ("openssl", ("speed", "-seconds", "86400", "sha256"), os.devnull),
    ("gzip", ("-9", "-c"), "/dev/urandom"),
    ("node", ("-e", _NODE), os.devnull),
)


class NoLoad(Exception):
    """Too few of the programs are installed; the sentence names the missing ones."""


@dataclass(frozen=True, slots=True)
class Load:
    """The running programs: names, and process ids in the same order."""

    names: tuple[str, ...]
    pids: tuple[int, ...]


@contextmanager
def busy_machine() -> Iterator[Load]:
    """Run the installed programs, repeated until every CPU has one. Raises NoLoad."""
    found = [
        (path, arguments, source)
        for name, arguments, source in _PROGRAMS
        if (path := shutil.which(name)) is not None
    ]
    if len(found) < 2:
        raise NoLoad(f"at least two of {', '.join(name for name, _, _ in _PROGRAMS)} must be installed")
    rounds = -(-len(os.sched_getaffinity(0)) // len(found))
    with ExitStack() as ending:
        processes = [
            ending.enter_context(_running([path, *arguments], source))
            for path, arguments, source in found * rounds
        ]
        names = tuple(os.path.basename(path) for path, _, _ in found * rounds)  # noqa: PTH119 - it is a str
        yield Load(names, tuple(process.pid for process in processes))


@contextmanager
def _running(command: list[str], source: str) -> Iterator[subprocess.Popen[bytes]]:
    with open(source, "rb") as stdin:  # noqa: PTH123 - a device by its name
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
