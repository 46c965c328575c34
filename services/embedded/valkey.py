"""The Valkey of `fleetprof up`: Celery's broker, on a Unix socket of mode 0600.

Its content can always be rebuilt (PostgreSQL records the remaining work), but it keeps an append-only file so that a
restart need not wait for the next sweep. It runs as our own user. The server outlives the process that started it, and
`start` adopts a running server.
"""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

from services.embedded.server_folder import alone, check_socket, make_folder, rotate_long_log
from services.embedded.server_process import first_number, runs, tail
from services.embedded.server_programs import valkey_program
from services.errors import CannotStart

_SECONDS_TO_WRITE_PID = 5.0


class EmbeddedValkey:
    """A server in `directory`, created if missing, for our user only. Not thread-safe."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self.socket = self.directory / "valkey.sock"
        self.log = self.directory / "server.log"
        self._pid_file = self.directory / "valkey.pid"

    def url(self, database: int = 0) -> str:
        """The broker's URL in Celery's format."""
        return f"redis+socket://{quote(str(self.socket))}?virtual_host={database}"

    def client_url(self, database: int = 0) -> str:
        """The same address in redis-py's format."""
        return f"unix://{quote(str(self.socket))}?db={database}"

    @property
    def pid(self) -> int | None:
        """Process id of the server while it runs."""
        pid = first_number(self._pid_file)
        return pid if pid is not None and self._runs(pid) else None

    def start(self, *, timeout_s: float = 30.0) -> None:
        """Return once the server responds; at once if it already does.

        Raises `CannotStart` with the end of the server's log.
        """
        check_socket(str(self.socket))
        make_folder(self.directory)
        self.directory.chmod(0o700)
        deadline = time.monotonic() + timeout_s
        launch_again = 0.0
        with alone(self.directory):
            # The server writes its pid file last; `pid` must be known when this returns.
            while not self._answers() or (self.pid is None and time.monotonic() < launch_again):
                if time.monotonic() > deadline:
                    raise CannotStart(f"Valkey does not respond on {self.socket}.{tail(self.log)}")
                if self.pid is None and time.monotonic() >= launch_again:
                    self._launch()
                    # A server that has forked and returned writes its pid file later. Before that no server seems to
                    # run, and a second one would take over the first one's socket.
                    launch_again = time.monotonic() + _SECONDS_TO_WRITE_PID
                time.sleep(0.02)

    def stop(self, *, timeout_s: float = 20.0) -> None:
        """Return once the server has saved and ended; at once if it does not run."""
        if not self.directory.is_dir():
            return
        with alone(self.directory):
            pid = self.pid
            if pid is None:
                return
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + timeout_s
            while self._runs(pid):  # it removes its pid file before it has written everything
                if time.monotonic() > deadline:
                    raise CannotStart(f"Valkey (pid {pid}) does not stop.{tail(self.log)}")
                time.sleep(0.02)

    def _launch(self) -> None:
        rotate_long_log(self.log)
        settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "600",
            "dir": str(self.directory),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "daemonize": "yes",
            "pidfile": str(self._pid_file),
            "logfile": str(self.log),
            "maxmemory-policy": "noeviction",  # a full queue is better than one that drops tasks
        }
        command = [str(valkey_program())]
        for name, value in settings.items():
            command += [f"--{name}", value]
        started = subprocess.run(
            command,
            cwd=self.directory,
            env={"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        if started.returncode != 0:
            said = (started.stderr or started.stdout).strip()
            raise CannotStart(f"Valkey did not start: {said}{tail(self.log)}")

    def _runs(self, pid: int) -> bool:
        """Whether `pid` is our server: its title is `…/valkey-server unixsocket:/…/valkey.sock`."""
        return any(runs(pid, name, str(self.socket)) for name in ("valkey-server", "redis-server"))

    def _answers(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(5)
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False
