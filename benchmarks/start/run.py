"""One `fleetprof up`: start it in an empty state directory, poll until it has a table, leave it idle, stop it."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.start.processes import Stack
from services.deployment.running_deployment import find_running_deployment
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_PATIENCE_S: Final = 300.0
_POLL_S: Final = 0.05
_SETTLE_S: Final = 20.0
"""Collector and worker return free memory to the system every 15 s."""


@dataclass(frozen=True)
class Started:
    """Seconds since exec, and the CPU seconds of all processes until then."""

    api_ready_s: float
    all_ready_s: float
    all_ready_cpu_s: float
    first_table_s: float


@dataclass(frozen=True)
class Idle:
    """Cost while the campaign is stopped and no capture waits."""

    pss_mib: dict[str, float]
    cpu_ms_per_s: float


class Up:
    """A `fleetprof up` in its own state directory."""

    def __init__(self, process: subprocess.Popen[bytes], state: Path, port: int, token: str) -> None:
        self._process, self._state = process, state
        self._url, self._token = f"http://127.0.0.1:{port}", token
        self._began = time.monotonic()
        self.stack = Stack(process.pid, state)

    def started(self) -> Started:
        """Wait for the API, for all parts, and for the first row of the table. Raises RuntimeError."""
        self._until(self._ready)
        api = self._age()
        self._until(lambda: find_running_deployment(self._state))
        every, cpu = self._age(), self.stack.cpu_s()
        self._until(self._has_rows)
        return Started(api, every, cpu, self._age())

    def idle(self, seconds: float) -> Idle:
        """Stop the campaign, wait until all captures are ingested, and measure for `seconds`. Raises RuntimeError."""
        self._command("campaigns", "stop", "fleet")
        self._until(lambda: not self._get("/api/v1/status")["captures"]["waiting"])
        time.sleep(min(_SETTLE_S, seconds))
        spent = self._cpu_ms_per_s(seconds)
        return Idle(self.stack.pss_mib(), spent)

    def _cpu_ms_per_s(self, seconds: float) -> float:
        before, began = self.stack.cpu_s(), time.monotonic()
        time.sleep(seconds)
        return 1000 * (self.stack.cpu_s() - before) / (time.monotonic() - began)

    def _age(self) -> float:
        return time.monotonic() - self._began

    def _until(self, holds: Callable[[], object]) -> None:
        while not holds():
            if self._process.poll() is not None or self._age() > _PATIENCE_S:
                log = (self._state / "up.txt").read_text(errors="replace")
                raise RuntimeError(f"`fleetprof up` did not get there in {self._age():.0f} s:\n{log}")
            time.sleep(_POLL_S)

    def _ready(self) -> bool:
        try:
            self._get("/readyz")
        except OSError:  # HTTPError is one
            return False
        return True

    def _has_rows(self) -> bool:
        return bool(self._get("/api/v1/table?from=now-1h&limit=1")["rows"])

    def _get(self, path: str) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Cache-Control": "no-cache"}
        request = urllib.request.Request(self._url + path, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    def _command(self, *words: str) -> None:
        command = [sys.executable, "-P", "-m", "services", *words]
        subprocess.run(command, env=_environment(self._state), check=True, stdout=subprocess.DEVNULL)


@contextmanager
def up(
    command: Sequence[str] = (sys.executable, "-P", "-m", "services", "up"), cwd: str = "/"
) -> Iterator[Up]:
    """Run `fleetprof up` during the block, on a free port, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="bench-start-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        state = Path(folder)
        state.chmod(0o711)  # PostgreSQL runs as another user when we are root
        token, port = secrets.token_hex(12), _free_port()
        environment = _environment(state) | {
            "FLEETPROF_API_TOKENS": f"viewer:{token}",
            "FLEETPROF_API_PORT": str(port),
        }
        with (state / "up.txt").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            yield Up(process, state, port, token)
        finally:
            _end(process)
            EmbeddedPostgres(state / "postgres").stop()
            EmbeddedValkey(state / "valkey").stop()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it like Ctrl-C twice: the second one skips captures that are not ingested."""
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                continue


def _environment(state: Path) -> dict[str, str]:
    bare = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    return bare | {"FLEETPROF_STATE_DIR": str(state)}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
