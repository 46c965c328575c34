"""GIVEN a process with a limit of memory WHEN a capture needs more THEN that is said, and not that it is malformed."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
import zstandard
from fleetpb import capture_pb2
from storage.ingest import decode_capture as decode, wire_size
from symbolizer.worker.memory_limit import limit_memory

wire_size.SMALL_BYTES = 1 << 40  # what passes the walk may still be too much for this machine
blob = zstandard.compress(b"\\x3a\\x00" * (20 << 20))
limit_memory({limit})
try:
    decode.decode_capture(blob)
except MemoryError:
    print("memory")
except Exception as error:
    print(type(error).__name__)
print(len(np.zeros(1 << 20)), "left")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "said"), [(512 << 20, "memory"), (0, "BadCapture")])
def test_an_allocation_fails_where_the_limit_is(limit: int, said: str):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(limit=limit)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == [said, f"{1 << 20} left"], "and the process goes on"


SMALL = """
import zstandard
from storage.ingest.decode_capture import decode_capture
from symbolizer.worker.memory_limit import limit_memory
from tests.pending_captures import a_capture
from uuid import UUID

blob = zstandard.ZstdCompressor(write_content_size={stated}).compress(a_capture(UUID(int=1)).SerializeToString())
limit_memory(256 << 20)
print(len(decode_capture(blob).strings))
"""


@pytest.mark.parametrize("stated", [True, False])
def test_a_small_capture_needs_no_room_for_the_largest(stated: bool) -> None:
    """One of 300 bytes took the 512 MiB that any may have, of a process's 1.5 GiB."""
    command = [sys.executable, "-c", SMALL.format(stated=stated)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "5\n", done.stderr
