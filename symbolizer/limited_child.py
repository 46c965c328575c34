"""Runs a module in a separate process on files that may be hostile, passed as descriptors.

The child limits its own memory and CPU time before it reads a file. The parent limits the child's wall-clock
time and output, and ends it when the result is not needed.
"""

import ctypes
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

_PACKAGE_ROOT: Final = Path(__file__).resolve().parents[1]
_MAX_REASON: Final = 500
_MAX_OUTPUT: Final = 64 << 20
"""Bytes of a child's output: 200,000 source names have some 20 MB."""
_AT_ONCE: Final = 1 << 16
_LOOKED_S: Final = 0.25
"""Interval at which the parent checks whether to end the child."""
_PR_SET_PDEATHSIG: Final = 1


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How a child ended."""

    status: int
    """Its exit code; below 0: the signal that ended it."""
    output: bytes
    last_error: str
    """The last line of its stderr, at most 500 characters; '' if there is none."""


def limit_this_process(memory: int, seconds: int, *, written: int) -> None:
    """Limit this process's resources for good; children call this first.

    `memory` bytes of address space, CPU `seconds`, `written` bytes in any one file, no core
    file. The process is killed when its parent ends.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))  # the parent's limit may be lower
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (written, written))


def run_child(
    module: ModuleType,
    arguments: Sequence[str],
    descriptors: Sequence[int],
    *,
    seconds: float,
    stopping: Callable[[], bool] = lambda: False,
) -> ChildResult | None:
    """Run the module with these arguments; None: it was ended after `seconds` on the clock, or because of `stopping`.

    Its environment is empty except for variables that keep numpy from starting threads, each of which takes
    address space. A child with more than 64 MiB of output is killed. Raises OSError if no process can be started.
    """
    with subprocess.Popen(
        [sys.executable, "-m", module.__name__, *arguments],
        cwd=_PACKAGE_ROOT,  # `-m` finds the package here, installed or not
        pass_fds=descriptors,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"OPENBLAS_NUM_THREADS": "1"},
    ) as process:
        try:
            written = _communicate(process, time.monotonic() + seconds, stopping)
        finally:
            process.kill()
    if written is None:
        return None
    output, complaints = written
    lines = complaints.decode("utf-8", "replace").strip().splitlines()
    return ChildResult(process.returncode, output, lines[-1][:_MAX_REASON] if lines else "")


def _communicate(
    process: subprocess.Popen[bytes], deadline: float, stopping: Callable[[], bool]
) -> tuple[bytes, bytes] | None:
    """The child's stdout and stderr until it ended; None: it is to be ended."""
    assert process.stdout is not None
    assert process.stderr is not None
    written = {pipe.fileno(): bytearray() for pipe in (process.stdout, process.stderr)}
    with selectors.DefaultSelector() as waiting:
        for pipe in written:
            waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map():
            left = deadline - time.monotonic()
            if left <= 0 or stopping():
                return None
            for key, _ in waiting.select(min(left, _LOOKED_S)):
                if part := os.read(key.fd, _AT_ONCE):
                    written[key.fd] += part
                else:
                    waiting.unregister(key.fileobj)
            if sum(map(len, written.values())) > _MAX_OUTPUT:
                process.kill()
                return b"", f"It wrote more than {_MAX_OUTPUT >> 20} MiB.".encode()
    try:
        process.wait(max(deadline - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        return None
    output, complaints = written.values()
    return bytes(output), bytes(complaints)
