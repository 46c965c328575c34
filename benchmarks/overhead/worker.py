"""One program that counts its own work: `python -m benchmarks.overhead.worker NAME FILE SLOT`.

Each unit takes about 10–200 µs, so a slice of a fifth of a second contains a thousand or more. The count is a word of a
shared file, which the benchmark reads without a system call to the program.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import mmap
import os
import re
import signal
import sqlite3
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# One cache line per counter: two CPUs that write to one line would slow each other.
SLOT_BYTES: Final = 64
_PAGES: Final = 16
_RECORDS: Final = 20_000
_PR_SET_PDEATHSIG: Final = 1  # include/uapi/linux/prctl.h


def _interpreter() -> Callable[[], None]:
    rows = [{"a": number, "b": str(number) * 3} for number in range(30)]
    digits = re.compile("[0-9]+")

    def unit() -> None:
        text = json.dumps(rows)
        sorted(digits.findall(text), key=len)

    return unit


def _database() -> Callable[[], None]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price INTEGER)")
    connection.executemany(
        "INSERT INTO item VALUES (?, ?, ?)", ((key, f"name {key}", key * 7 % 1000) for key in range(_RECORDS))
    )
    key = 0

    def unit() -> None:
        nonlocal key
        key = (key * 1103515245 + 12345) % _RECORDS
        connection.execute(
            "SELECT sum(price), max(name) FROM item WHERE id BETWEEN ? AND ?", (key, key + 50)
        ).fetchone()

    return unit


def _compression() -> Callable[[], None]:
    text = b" ".join(b"%d" % (number * 2654435761 % 1000003) for number in range(400))
    return lambda: (zlib.compress(text, 6), None)[1]


def _hashing() -> Callable[[], None]:
    data = bytes(range(256)) * 128
    return lambda: (hashlib.sha256(data).digest(), None)[1]


def _pages() -> Callable[[], None]:
    """A unit is 16 page faults."""

    def unit() -> None:
        memory = mmap.mmap(-1, _PAGES * mmap.PAGESIZE)
        for page in range(_PAGES):
            memory[page * mmap.PAGESIZE] = 1
        memory.close()

    return unit


def _switches() -> Callable[[], None]:
    """A unit is a round trip between two processes on one CPU: two switches."""
    there, back = os.pipe(), os.pipe()
    if not os.fork():
        os.close(there[1])  # so that it ends with its parent
        while os.read(there[0], 1):
            os.write(back[1], b"x")
        os._exit(0)
    os.close(there[0])

    def unit() -> None:
        os.write(there[1], b"x")
        os.read(back[0], 1)

    return unit


PROGRAMS: Final = {
    "cpython": _interpreter,
    "sqlite": _database,
    "zlib": _compression,
    "openssl": _hashing,
    "pages": _pages,
    "switches": _switches,
}


def main(name: str, file: str, slot: str) -> None:
    """Work until it is ended or its parent has died. Observed: two went on for 50 minutes after a killed benchmark."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    with Path(file).open("r+b") as opened:
        memory = mmap.mmap(opened.fileno(), 0)
    done = ctypes.c_uint64.from_buffer(memory, int(slot) * SLOT_BYTES)
    unit = PROGRAMS[name]()
    while True:
        unit()
        done.value += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
