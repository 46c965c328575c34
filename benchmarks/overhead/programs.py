"""Start a program on every CPU and read its progress."""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.cpu_time import tree_cpu_s
from benchmarks.overhead.worker import SLOT_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BEGUN_S: Final = 20.0
_WARM_UP_S: Final = 0.5
# Node cannot map memory: it writes its count into the file, about 2 µs every 200 µs.
_NODE: Final = f"""
const fs = require('fs'), file = fs.openSync(process.argv[1], 'r+'), at = process.argv[2] * {SLOT_BYTES};
const words = new BigUint64Array(1), bytes = new Uint8Array(words.buffer);
const parent = process.ppid;
const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
for (let sum = 0; process.ppid == parent;) {{
  for (let i = 0; i < 10; i++)
    sum += fib(9) + JSON.parse(JSON.stringify({{a: [1, 2, sum % 7], b: 'abc1def'.replace(/[0-9]/g, 'x')}})).a.length;
  words[0]++;
  fs.writeSync(file, bytes, 0, 8, at);
}}
"""


class DidNotStart(Exception):
    """A program does not start or work; the sentence names it."""


class Running:
    """One instance of a program per CPU."""

    def __init__(self, name: str, counts: mmap.mmap, processes: Sequence[subprocess.Popen[bytes]]) -> None:
        self.name: Final = name
        self._counts = counts
        self._processes = processes

    def work(self) -> int:
        """Units completed so far by all instances."""
        return sum(self._each())

    def cpu_s(self) -> float:
        """CPU time of all instances including their children."""
        return sum(tree_cpu_s(process.pid) for process in self._processes)

    def wait_until_busy(self) -> None:
        """Wait until every instance has counted, and a little longer. Raises DidNotStart."""
        deadline = time.monotonic() + _BEGUN_S
        while not all(self._each()):
            if time.monotonic() > deadline or any(process.poll() is not None for process in self._processes):
                raise DidNotStart(f"{self.name} does no work")
            time.sleep(0.02)
        time.sleep(_WARM_UP_S)

    def _each(self) -> list[int]:
        return [
            struct.unpack_from("=Q", self._counts, slot * SLOT_BYTES)[0]
            for slot in range(len(self._processes))
        ]


def installed(name: str) -> bool:
    """Whether it can run here; only node may be missing."""
    return name != "node" or shutil.which("node") is not None


@contextmanager
def running(name: str, folder: Path) -> Iterator[Running]:
    """A program on every CPU of this process, one pinned instance each; ended after the block. Raises DidNotStart."""
    cpus = sorted(os.sched_getaffinity(0))
    file = folder / f"{name}.counts"
    file.write_bytes(bytes(mmap.PAGESIZE * (1 + len(cpus) * SLOT_BYTES // mmap.PAGESIZE)))
    command = (
        ["node", "-e", _NODE]
        if name == "node"
        else [sys.executable, "-m", "benchmarks.overhead.worker", name]
    )
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for slot, cpu in enumerate(cpus):
            # Inherited, so that early threads are pinned too.
            os.sched_setaffinity(0, {cpu})
            processes.append(
                subprocess.Popen(
                    [*command, str(file), str(slot)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
                )
            )
        os.sched_setaffinity(0, set(cpus))
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as counts:
            program = Running(name, counts, processes)
            program.wait_until_busy()
            yield program
    finally:
        os.sched_setaffinity(0, set(cpus))
        for process in processes:
            process.kill()
            process.wait()
        file.unlink(missing_ok=True)
