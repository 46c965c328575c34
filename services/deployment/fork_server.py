"""A fork server: starts the parts of a deployment from a process that has imported their shared code.

API, worker and collector import the same 60 to 170 MB of code. Forked from one process that imported it, they share
those pages and start at once. Started by exec, each has its own pages (measured: 241 against 135 MB).

The server only forks: it opens no connection and starts no thread. Each part becomes a child of the process that
requested it, so parts survive the server. Only the part itself reads its arguments and environment, so no part has
another part's credentials in its memory.
"""

import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from services.deployment.process_environment import API, COLLECTOR, WORKER

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_SHARED: Final[Mapping[str, Sequence[str]]] = {
    API: ("services.cli", "services.api.serve"),
    WORKER: (
        "symbolizer.worker.tasks",
        "services.monitoring.metrics_server",
        "services.monitoring.worker_metrics",
        "celery.apps.worker",
        "celery.backends.base",
        "celery.concurrency.prefork",
        "celery.worker.autoscale",
        "celery.worker.components",
        "celery.worker.consumer",
    ),
    COLLECTOR: (
        "collector.run",
        "collector.visit",
        "services.symbols.gateway_uploads",
        "services.monitoring.collector_metrics",
    ),
}
"""Modules imported before a part is forked, in addition to those of earlier parts. The API waits only for its own."""
_MOST: Final = 1 << 20
_PAUSE_S: Final = 0.05

_libc = ctypes.CDLL(None, use_errno=True)


class ForkedProcess:
    """A child that a fork server started for this process; the subset of `subprocess.Popen` that a supervisor uses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        """Exit code, or the negative number of the signal that ended it; None while it runs."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; returns the exit code. Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            time.sleep(0.01)
        return code

    def terminate(self) -> None:
        """Send SIGTERM, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


class ForkServer:
    """The fork server of this process. Call `start` early: its imports take seconds."""

    def __init__(self, inherits: Callable[[str], bool], while_waiting: Callable[[], None]) -> None:
        """`inherits` selects the server's environment variables. None may be secret: every part shows them in /proc.

        `while_waiting` is called periodically while a part waits for imports, and may raise.
        """
        self._inherits, self._while_waiting = inherits, while_waiting
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def start(self, log: Path) -> None:
        """Start the process, which imports in the background and appends its output to `log`."""
        self.close()
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with theirs, log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "services.deployment.fork_server"],
                stdin=theirs.fileno(),
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                env={name: value for name, value in os.environ.items() if self._inherits(name)},
                start_new_session=True,
            )

    def fork(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> ForkedProcess | None:
        """Start `python -P -m services PART …` with exactly this environment; None if the server has ended.

        Waits until the server has imported the part's modules.
        """
        if self._requests is None:
            return None
        part = command[command.index("services") + 1]
        ours, theirs = socket.socketpair(socket.AF_UNIX)
        with ours, log.open("ab") as output:
            _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)  # the grandchild becomes our child when its parent ends
            try:
                with theirs:
                    socket.send_fds(self._requests, [part.encode()], [theirs.fileno(), output.fileno()])
                ours.sendall(json.dumps([os.getpid(), list(command), dict(environment)]).encode() + b"\n")
                while not select.select([ours], [], [], _PAUSE_S)[0]:
                    self._while_waiting()
                answer = ours.recv(64)
            except OSError:
                return None
            finally:
                _libc.prctl(_PR_SET_CHILD_SUBREAPER, 0)
        return ForkedProcess(int(answer)) if answer else None

    def close(self) -> None:
        """End the server; forked parts keep running."""
        if self._requests is not None:
            self._requests.close()
            self._requests = None
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


def main() -> None:
    """Import, then fork for each request on standard input; each fork runs the command of its request."""
    _import(API)
    _run(_forks())


def _import(part: str) -> None:
    for name in _SHARED.get(part, ()):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a collection in a fork would write to, and thereby copy, every page


def _forks() -> socket.socket:
    """Return in each fork, with the socket that carries its command. The server itself exits inside."""
    with socket.socket(fileno=0) as requests:
        while True:
            part, descriptors, _, _ = socket.recv_fds(requests, 64, 2)
            if not part:
                os._exit(0)
            _import(part.decode())
            child = os.fork()
            if child == 0:
                if os.fork() != 0:
                    os._exit(0)  # the requesting process becomes the parent
                connection, output = descriptors
                os.dup2(output, 1)
                os.dup2(output, 2)
                os.close(output)
                requests.detach()
                null = os.open(os.devnull, os.O_RDONLY)
                os.dup2(null, 0)
                os.close(null)
                return socket.socket(fileno=connection)
            os.waitpid(child, 0)
            for descriptor in descriptors:
                os.close(descriptor)


def _run(connection: socket.socket) -> NoReturn:
    with connection, connection.makefile("rb") as lines:
        parent, command, environment = json.loads(lines.readline(_MOST))
        _follow(parent)
        os.setsid()
        connection.sendall(str(os.getpid()).encode())
    os.environ.clear()
    os.environ.update(environment)
    _show(command)
    sys.argv = ["fleetprof", *command[command.index("services") + 1 :]]
    from services.cli import main as run_command  # noqa: PLC0415 - imported long since, by `_import`

    run_command()
    sys.exit()


def _follow(parent: int) -> None:
    """Die with `parent`, which the kernel is about to make our parent if it is alive."""
    while (now := os.getppid()) != parent:
        if not Path(f"/proc/{parent}").exists() or now == 1:
            os._exit(1)
        time.sleep(0.001)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


def _show(command: Sequence[str]) -> None:
    """Set /proc/PID/cmdline to the command, as exec would; `ps` and our gateway read it."""
    fields = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])
    text = b"".join(word.encode() + b"\0" for word in command)
    if begin and len(text) <= end - begin:
        ctypes.memmove(begin, text.ljust(end - begin, b"\0"), end - begin)


if __name__ == "__main__":
    main()
