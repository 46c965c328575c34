"""Supervise child processes: start them in order, restart them, end them in reverse order.

The kernel signals every child when its parent dies (PR_SET_PDEATHSIG), so a killed `fleetprof up` leaves no process
that listens or samples. A child that ends by itself is restarted, with a longer delay each time in a row; the last
lines of its log give the reason. Children work in `/`, as daemons do, so they never use the folder `up` was started in.
"""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from services.deployment.fork_server import ForkedProcess, ForkServer
from services.deployment.log_rotation import rotate_if_long
from services.errors import CannotStart

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)

STEADY_S = 20.0
"""A child that ran this long is restarted without delay."""
LONGEST_DELAY_S = 15.0


@dataclass(frozen=True, slots=True)
class Part:
    """One process of the deployment: its command and its readiness check."""

    name: str
    command: Sequence[str]
    log: Path
    ready: Callable[[], bool]
    """Cheap, side-effect free; True once the process serves."""
    environment: Mapping[str, str] = field(default_factory=dict)
    inherits: Callable[[str], bool] = lambda _variable: True
    """Whether it receives this environment variable of the deployment."""
    forked_by: ForkServer | None = None
    """Forks the part while the fork server runs, in place of exec; `command` is then `python -P -m services …`."""
    ready_within_s: float = 120.0
    """The API has taken 97 s on a machine with ten runnable threads per CPU."""
    stop_within_s: float = 20.0


class Child:
    """A `Part` that runs or waits for its restart."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.restarts = 0
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self._started = 0.0
        self._failures = 0
        self._start_at = 0.0

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def runs_for_s(self) -> float:
        """Seconds since the last start."""
        return time.monotonic() - self._started

    def start(self) -> None:
        """Start the process and append its output to the part's log."""
        part = self.part
        environment = {k: v for k, v in os.environ.items() if part.inherits(k)} | dict(part.environment)
        part.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        rotate_if_long(part.log)
        forked = part.forked_by and part.forked_by.fork(part.command, environment, part.log)
        self._process = forked or self._executed(environment)
        self._started = time.monotonic()

    def _executed(self, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        parent = os.getpid()

        def follow_parent() -> None:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:  # the parent died between fork and prctl
                os._exit(1)

        with self.part.log.open("ab") as log:
            return subprocess.Popen(
                self.part.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",
                env=environment,
                start_new_session=True,  # Ctrl-C reaches only `up`, which ends the parts in order
                preexec_fn=follow_parent,  # noqa: PLW1509 - prctl has to run in the child; `up` has one thread here
            )

    def tend(self) -> str | None:
        """Restart the process if it has ended and its delay is over; returns a sentence when it ended.

        Also rotates its log if it is long.
        """
        rotate_if_long(self.part.log)
        process = self._process
        if process is not None:
            code = process.poll()
            if code is None:
                return None
            self._process = None
            ran = time.monotonic() - self._started
            self._failures = 0 if ran >= STEADY_S else self._failures + 1
            delay = min(LONGEST_DELAY_S, 0.5 * 2**self._failures if self._failures else 0.0)
            self._start_at = time.monotonic() + delay
            return f"{self.part.name} ended ({how_it_ended(code)}); restarting it"
        if time.monotonic() >= self._start_at:
            self.restarts += 1
            self.start()
        return None

    def wait_until_ready(self, while_waiting: Callable[[], None] = lambda: None) -> None:
        """Return once the process serves.

        Raises CannotStart with the end of its log if it ends first or takes too long.
        """
        deadline = time.monotonic() + self.part.ready_within_s
        while not self.part.ready():
            if self._process is not None and (code := self._process.poll()) is not None:
                raise CannotStart(
                    f"{self.part.name} ended while starting ({how_it_ended(code)}).{self.last_lines()}"
                )
            if time.monotonic() > deadline:
                raise CannotStart(
                    f"{self.part.name} was not ready after {self.part.ready_within_s:.0f} s.{self.last_lines()}"
                )
            while_waiting()
            time.sleep(0.05)

    def stop(self) -> None:
        """Terminate the process, wait, and kill it if it does not end."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(self.part.stop_within_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def last_lines(self, count: int = 12) -> str:
        """End of the log for an error message; empty without a log."""
        try:
            lines = self.part.log.read_text(errors="replace").splitlines()[-count:]
        except OSError:
            return ""
        return "\n" + "\n".join(f"    {line}" for line in lines) + f"\n  (full log: {self.part.log})"


def how_it_ended(code: int) -> str:
    """Exit code or signal of a process, in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
