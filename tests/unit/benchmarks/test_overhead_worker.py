"""GIVEN a benchmark's programs at work WHEN the benchmark is killed THEN they end: nobody else would end them."""

import mmap
import os
import select
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.overhead.programs import _NODE, installed
from benchmarks.overhead.worker import SLOT_BYTES
from tests.polling import until

ROOT = Path(__file__).parents[3]
DEADLINE_S = 30.0
PARENT = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:])
print(child.pid, flush=True)
child.wait()
"""


@pytest.mark.parametrize("name", ["zlib", "node"])
def test_a_program_ends_with_whoever_started_it(name: str, tmp_path: Path):
    if not installed(name):
        pytest.skip(f"{name} is not installed")
    counts = tmp_path / "counts"
    counts.write_bytes(bytes(mmap.PAGESIZE))
    program = (
        ["node", "-e", _NODE]
        if name == "node"
        else [sys.executable, "-m", "benchmarks.overhead.worker", name]
    )
    command = [sys.executable, "-c", PARENT, *program, str(counts), "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        worker = os.pidfd_open(int(parent.stdout.readline()))
        try:
            until(lambda: struct.unpack_from("=Q", counts.read_bytes()[:SLOT_BYTES])[0])
            parent.kill()
            # Of a process that has ended, whether anybody waited for it or not.
            assert select.select([worker], [], [], DEADLINE_S)[0]
        finally:
            parent.kill()
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(worker, signal.SIGKILL)
            os.close(worker)
