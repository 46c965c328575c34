"""Programs whose files are traps: a capture beside them takes its time and no more, and lacks nothing but their frames."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fleetpb import capture_pb2
from tests.file_leases import give_away
from tests.fuse_server import CODE_AT, COMM, CONTENT, NOBODY, SPIN, spinning
from tests.gateway_daemon import (
    ROOT,
    Daemon,
    StackOf,
    ask,
    ends_of,
    groups_where,
    plan,
    stacks_of,
)

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted"), pytest.mark.slow]
DAEMON_OPTIONS = ("--max-cpu-percent", "50")

SECONDS = 1.5
ENOUGH = 8
MOST_CAPTURES = 6
HONEST = """
import sys
open("/proc/self/comm", "w").write("honest")
print("ready", flush=True)
while True:
    sum(n * n for n in range(300))
"""
SPINNING = """
import os, sys
from tests.fuse_server import spin_in
open("/proc/self/comm", "w").write("hostile")
spin_in(os.open(sys.argv[1], os.O_RDONLY))
print("ready", flush=True)
sys.stdin.readline()
os._exit(0)
"""
LEASED_MAP = """
import ctypes, fcntl, mmap, os, signal, sys, threading
open("/proc/self/comm", "w").write("hostile")
signal.signal(signal.SIGIO, signal.SIG_IGN)
os.setresuid(*3 * [int(sys.argv[1])])
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b"\\xeb\\xfe")
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
path = f"/tmp/perf-{os.getpid()}.map"
with open(path, "w") as file:
    file.write(f"{address:x} 10 named\\n")
descriptor = os.open(path, os.O_RDONLY)
fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
threading.Thread(target=ctypes.CFUNCTYPE(None)(address), daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
os.unlink(path)
os._exit(0)
"""


@contextmanager
def started(program: str, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """A program in Python that has said that it is ready; the end of its input ends it."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.stdin.close()
            if program is HONEST:
                process.send_signal(signal.SIGKILL)


def captured(daemon: Daemon, comm: str = "hostile") -> capture_pb2.Capture:
    """A capture with enough samples of these programs, and of one beside them, which is walked as ever.

    The call has a deadline, which a lease would outlast.
    """
    with started(HONEST), daemon.stub() as stub:
        for _ in range(MOST_CAPTURES):
            capture = ask(stub, plan(seconds=SECONDS, rate_hz=499)).capture
            honest = ends_of(user_stacks(capture, "honest"))
            if min(honest.total(), ends_of(user_stacks(capture, comm)).total()) >= ENOUGH:
                assert honest["COMPLETE"] >= 0.9 * honest.total(), honest
                return capture
    pytest.fail(f"{MOST_CAPTURES} captures had too few samples")


def user_stacks(capture: capture_pb2.Capture, comm: str) -> list[StackOf]:
    stacks = stacks_of(capture, groups_where(capture, comm=comm))
    return [stack for stack in stacks if stack.frames[0][0] != "[kernel]"]


def spinning_in(stacks: list[StackOf], path: str) -> int:
    """Samples whose first frame lies in the spinning instruction of a file."""
    return sum(stack.count for stack in stacks if stack.frames[0][:2] == (path, CODE_AT))


def test_a_lease_on_a_perf_map_costs_its_names(daemon: Daemon):
    user = os.geteuid() or NOBODY
    with started(LEASED_MAP, user) as process:
        capture = captured(daemon)
    assert "named" not in " ".join(capture.strings)
    (note,) = [note for note in capture.notes if f"process {process.pid} " in note]
    assert "lease" in note


@pytest.mark.parametrize("kind", ["served", "layered"])
def test_a_file_system_that_never_answers_costs_the_frames_through_its_files(daemon: Daemon, kind: str):
    with spinning(kind):
        capture = captured(daemon, COMM)
    assert spinning_in(user_stacks(capture, COMM), "/mnt/over/program") > 0


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(CONTENT, id="a header of nothing"),
        pytest.param(b"#!/bin/sh".ljust(CODE_AT) + SPIN, id="a script"),
        pytest.param(
            # A header that claims 255 program headers, of which all are 0xff.
            (b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + b"\x03\0\x3e\0\x01\0\0\0" + bytes(8)
             + (0x1000).to_bytes(8, "little") + bytes(12) + b"\x40\0\x38\0\xff\0").ljust(CODE_AT, b"\0")
            + SPIN.ljust(0x1000 - CODE_AT, b"\0") + b"\xff" * 0x4000,
            id="tables of garbage",
        ),
    ],
)  # fmt: skip
def test_a_file_that_is_not_what_it_claims_costs_the_frames_in_it(
    daemon: Daemon, tmp_path: Path, content: bytes
):
    path = tmp_path / "program"
    path.write_bytes(content)
    with started(SPINNING, path):
        capture = captured(daemon)
    assert spinning_in(user_stacks(capture, "hostile"), str(path)) > 0


def test_a_file_that_became_a_pipe_or_was_cut_costs_the_frames_in_it(daemon: Daemon, tmp_path: Path):
    piped, cut = tmp_path / "piped", tmp_path / "cut"
    for path in (piped, cut):
        path.write_bytes(CONTENT)
        give_away(path)
    with started(SPINNING, piped), started(SPINNING, cut):
        piped.unlink()
        os.mkfifo(piped)
        os.truncate(cut, CODE_AT + len(SPIN))
        capture = captured(daemon)
    stacks = user_stacks(capture, "hostile")
    assert spinning_in(stacks, str(piped)) > 0
    assert spinning_in(stacks, str(cut)) > 0
