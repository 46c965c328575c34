"""Demangles in a child process the names that might exhaust the demangler's memory or crash it."""

import atexit
import logging
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from symbolizer import demangle_child

log = logging.getLogger(__name__)

_PACKAGE_ROOT: Final = Path(__file__).resolve().parents[1]
_MEMORY_BYTES: Final = 128 << 20
_SECONDS: Final = 2.0
"""Limit for one name, including the start of the child; a name of 64 KiB takes a millisecond."""
MOST_FAILURES: Final = 32
REST_S: Final = 600.0


class DemanglerProcess:
    """Calls one child, started on first use and again after its death. Threads may share it; forks get their own.

    After `MOST_FAILURES` failures the child is not called for `REST_S`: a failure may take a second, and a hostile file
    has thousands of such names.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._failures = 0
        self._resting_until = float("-inf")

    def demangle(self, name: str) -> str:
        """The demangled name; '' if there is none, or the child failed at it. `name` has no line feed."""
        with self._lock:
            if self._clock() < self._resting_until:
                return ""
            plain = self._ask(name.encode("utf-8", "replace"))
            if plain is None:
                self._failed(name)
            return plain or ""

    def close(self) -> None:
        """End the child; it is started again when needed."""
        child, self._child = self._child, None
        if child is None or self._owner != os.getpid():
            return
        child.kill()
        child.communicate()

    def _failed(self, name: str) -> None:
        self.close()
        self._failures += 1
        log.warning("not demangled, the demangler crashed or timed out: name=%.80s", name)
        if self._failures >= MOST_FAILURES:
            self._failures = 0
            self._resting_until = self._clock() + REST_S

    def _ask(self, name: bytes) -> str | None:
        """The child's response; None: there is none, and the child is dead or unusable."""
        child = self._process_with_name(name)
        if child is None:
            return None
        assert child.stdout is not None
        deadline = time.monotonic() + _SECONDS
        answer = b""
        while not answer.endswith(b"\n"):
            readable, _, _ = select.select([child.stdout], [], [], max(deadline - time.monotonic(), 0))
            part = os.read(child.stdout.fileno(), 1 << 16) if readable else b""
            if not part:
                return None
            answer += part
        return answer[:-1].decode()

    def _process_with_name(self, name: bytes) -> "subprocess.Popen[bytes] | None":
        """A child that has received this name; None: two children died at once.

        A child that died since its last response did not fail at a name: it dies with the thread that started it
        (PR_SET_PDEATHSIG in prctl(2)).
        """
        for _ in range(2):
            child = self._running()
            assert child.stdin is not None
            try:
                child.stdin.write(name + b"\n")
            except BrokenPipeError:
                self.close()
            else:
                return child
        return None

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._owner == os.getpid() and self._child is not None and self._child.poll() is not None:
            self.close()
        if self._owner != os.getpid():
            self._child = None
            self._owner = os.getpid()
            atexit.register(self.close)
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-m", demangle_child.__name__, str(_MEMORY_BYTES)],
                bufsize=0,
                cwd=_PACKAGE_ROOT,  # `-m` finds the package here, installed or not
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={},
            )
        return self._child
