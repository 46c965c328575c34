"""The program to record: a command that is started here, or a process that runs already."""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from services.errors import CannotRecord

PROC = Path("/proc")
_STOP_THEN_EXEC = 'kill -STOP $$; exec "$0" "$@"'
"""A shell script that stops itself and, when continued, becomes the command: process and id stay the same."""


class Program(Protocol):
    """A program while it is recorded."""

    pid: int
    name: str
    """For file names: the base name of the program."""
    title: str
    """The command line on one line."""

    def start(self) -> None:
        """Sampling is on: let the program run."""

    def abandon(self) -> None:
        """Sampling is not possible: end what was started here."""

    def has_ended(self) -> bool:
        """Whether the program has ended."""

    def finish(self) -> int:
        """Sampling is over: the exit code to report."""


class Command:
    """A command started here. It waits until `start`, so that its first instruction is sampled too."""

    def __init__(self, arguments: Sequence[str]) -> None:
        """Raises `CannotRecord` if there is no such program."""
        program = shutil.which(arguments[0])
        if program is None:
            raise CannotRecord(f"{arguments[0]!r} is not a program: no such file in PATH, or not executable.")
        self.name = Path(program).name
        self.title = " ".join(" ".join(arguments).split())
        self._process = subprocess.Popen(["/bin/sh", "-c", _STOP_THEN_EXEC, program, *arguments[1:]])
        self.pid = self._process.pid
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def start(self) -> None:
        """Continue the command. From now on Ctrl C reaches the command and ends the recording through its end."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._process.send_signal(signal.SIGCONT)

    def abandon(self) -> None:
        """Kill the command: it cannot be recorded."""
        self._process.kill()
        self._process.wait()

    def has_ended(self) -> bool:
        """Whether the command has exited; processes that it left behind are not waited for."""
        return self._process.poll() is not None

    def finish(self) -> int:
        """Wait for the command; its exit code, 128 + the signal if a signal ended it."""
        code = self._process.wait()
        return 128 - code if code < 0 else code


class RunningProcess:
    """A process that runs already, with its descendants."""

    def __init__(self, pid: int) -> None:
        """Raises `CannotRecord` if there is no such process."""
        self.pid = pid
        try:
            self.name = (PROC / str(pid) / "comm").read_text().strip() or str(pid)
            command = (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError as error:
            raise CannotRecord(f"There is no process {pid}: {error.strerror}.") from error
        self._stopped = False
        self.title = " ".join(command.decode("utf-8", "replace").split()) or self.name

    def start(self) -> None:
        """Make Ctrl C end the recording."""
        signal.signal(signal.SIGINT, self._stop)

    def abandon(self) -> None:
        """Nothing: the process was not started here."""

    def has_ended(self) -> bool:
        """Whether the process has ended, or the user has pressed Ctrl C."""
        return self._stopped or not (PROC / str(self.pid)).exists()

    def finish(self) -> int:
        """0: the process goes on."""
        return 0

    def _stop(self, *_: object) -> None:
        self._stopped = True
