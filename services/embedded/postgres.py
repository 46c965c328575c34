"""The PostgreSQL of `fleetprof up`: one cluster below the state directory.

    directory/                root's (or ours), 0711
      lock                    held while starting and stopping
      pg_hba.conf, pg_ident.conf
      programs/<version>/     copy of the wheel, only if the server's user cannot run it in place
      data/  run/  log/       the server's user's, 0700; the socket is in run/

The server outlives the process that started it; `start` adopts a running server. Only our user and the server's user
can connect, authenticated by the kernel (peer), through a socket in a folder that only those two can enter. There is
no TCP port.
"""

import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import psycopg2

from services.embedded.account import Account, own_name, server_account
from services.embedded.server_folder import alone, check_socket, make_folder, rotate_long_log
from services.embedded.server_process import first_number, runs, tail
from services.embedded.server_programs import PostgresPrograms, postgres_programs
from services.errors import CannotStart

DATABASE = "fleetprof"
USER = "fleetprof"
_WITH_IO_METHOD = 18
_PORT = 5432


class EmbeddedPostgres:
    """A cluster in `directory`, created if missing.

    `options` override the default server settings, e.g. `{"fsync": "off"}` in tests. Not thread-safe; several processes
    may use one directory.
    """

    def __init__(self, directory: Path, *, options: Mapping[str, str] | None = None) -> None:
        self.directory = directory.absolute()
        self._data = self.directory / "data"
        self._run = self.directory / "run"
        self._socket = self._run / f".s.PGSQL.{_PORT}"
        self._options = dict(options or {})
        self.log = self.directory / "log" / "server.log"

    def url(self, database: str = DATABASE) -> str:
        """URL of the database for a process of our user."""
        return f"postgresql+psycopg2://{USER}@/{database}?host={quote(str(self._run), safe='/')}&port={_PORT}"

    @property
    def pid(self) -> int | None:
        """Process id of the server while it runs."""
        pid = first_number(self._data / "postmaster.pid")
        return pid if pid is not None and runs(pid, "postgres", str(self._data)) else None

    def start(self, *, timeout_s: float = 60.0) -> None:
        """Return once the server responds and has its database; at once if it already does.

        Creates the cluster if missing. Raises `CannotStart` with the end of the server's log.
        """
        self._check_path()
        make_folder(self.directory)
        deadline = time.monotonic() + timeout_s
        with alone(self.directory):
            account = server_account(self._data)
            while not self._answers():
                if time.monotonic() > deadline:
                    raise CannotStart(f"PostgreSQL does not respond on {self._socket}.{tail(self.log)}")
                if self.pid is None:
                    self._check_reachable(account)
                    programs = postgres_programs(self._data, self.directory / "programs", account)
                    if not self._data.exists():
                        self._make_cluster(programs, account, timeout_s)
                    self._write_access(account)
                    self._launch(programs, account, deadline)
                else:  # starting, or killed just now
                    time.sleep(0.05)
            self._make_database()

    def stop(self, *, timeout_s: float = 30.0) -> None:
        """Disconnect clients and return once the server has ended; at once if it does not run."""
        if not self.directory.is_dir():
            return
        with alone(self.directory):
            pid = self.pid
            if pid is None:
                return
            account = server_account(self._data)
            programs = postgres_programs(self._data, self.directory / "programs", account)
            deadline = time.monotonic() + timeout_s
            self._control(programs, account, ["-m", "fast", "stop"], timeout_s)
            # pg_ctl waits for the pid file's removal; the process ends a moment later, or longer on a busy machine.
            while runs(pid, "postgres", str(self._data)):
                if time.monotonic() > deadline:
                    raise CannotStart(f"PostgreSQL (pid {pid}) does not stop.{tail(self.log)}")
                time.sleep(0.02)

    def _check_path(self) -> None:
        check_socket(f"{self._socket}.lock")
        # libpq reads a comma as two hosts; pg_ctl puts paths into a shell command between double quotes.
        if wrong := set(str(self._run)) & set(',"$`\\\n'):
            raise CannotStart(
                f"The path {self._run} contains {' '.join(sorted(map(repr, wrong)))}, which PostgreSQL's programs do not accept: "
                "set FLEETPROF_STATE_DIR to another folder."
            )

    def _check_reachable(self, account: Account) -> None:
        # Tested as that user, because modes alone are not conclusive (access control lists).
        entered = self._run_as(account, ["/bin/sh", "-c", 'test -x "$1"', "sh", self.directory], 30)
        if entered.returncode != 0:
            closed = next(
                (p for p in reversed(self.directory.parents) if not p.stat().st_mode & 0o001), self.directory
            )
            raise CannotStart(
                f"PostgreSQL runs as {account.name}, which cannot enter {closed}: set FLEETPROF_STATE_DIR to a folder "
                f"outside it, or permit it (chmod o+x)."
            )

    def _make_cluster(self, programs: PostgresPrograms, account: Account, timeout_s: float) -> None:
        """Create the cluster under a temporary name first: a killed initdb leaves no partial cluster."""
        unfinished = self.directory / "data.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        account.own_folder(unfinished)
        command: list[str | Path] = [
            programs.folder / "initdb",
            "-D",
            unfinished,
            "-U",
            USER,
            "-A",
            "peer",
            "--no-locale",
            "-E",
            "UTF8",
        ]
        if self._options.get("fsync") == "off":
            command.append("--no-sync")
        made = self._run_as(account, command, timeout_s)
        if made.returncode != 0:
            raise CannotStart(f"PostgreSQL's initdb failed: {(made.stderr or made.stdout).strip()}")
        unfinished.rename(self._data)

    def _write_access(self, account: Account) -> None:
        """Allow connections of our user and the server's user only."""
        names = {account.name, own_name()}
        for name, text in {
            "pg_hba.conf": "local all all peer map=fleetprof\n",
            "pg_ident.conf": "".join(f'fleetprof "{name}" {USER}\n' for name in sorted(names)),
        }.items():
            path = self.directory / name
            path.write_text(text)
            path.chmod(0o644)

    def _launch(self, programs: PostgresPrograms, account: Account, deadline: float) -> None:
        account.own_folder(self._run)
        account.own_folder(self.log.parent)
        rotate_long_log(self.log)
        # No live process uses these files (checked in /proc and by connecting to the socket), but PostgreSQL
        # itself refuses to start if their pid is now a zombie or another process.
        for stale in (self._data / "postmaster.pid", Path(f"{self._socket}.lock"), self._socket):
            stale.unlink(missing_ok=True)
        settings = self._settings(programs.major) | self._options
        options = " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
        while True:
            seconds = max(1, int(deadline - time.monotonic()))
            command: list[str | Path] = ["-l", self.log, "-o", options, "-t", str(seconds), "start"]
            started = self._control(programs, account, command, seconds + 10)
            if started.returncode == 0:
                return
            said = tail(self.log)
            # Processes of a killed postmaster end within a moment and release its memory.
            if "still in use" not in said or time.monotonic() > deadline:
                raise CannotStart(
                    f"PostgreSQL did not start: {(started.stderr or started.stdout).strip()}{said}"
                )
            time.sleep(0.1)

    def _settings(self, major: int) -> dict[str, str]:
        return {
            "hba_file": str(self.directory / "pg_hba.conf"),
            "ident_file": str(self.directory / "pg_ident.conf"),
            "listen_addresses": "",
            "port": str(_PORT),
            "unix_socket_directories": f'"{self._run}"',
            "unix_socket_permissions": "0700",
            # More is no better than the system's page cache, and 1 GB costs 14 MB of buffer descriptors before use.
            "shared_buffers": f"{min(max(_memory_mib() // 32, 64), 256)}MB",
            "wal_buffers": "4MB",
            "max_wal_size": "2GB",
            # One machine's store uses neither replication nor I/O processes, which exist since version 18.
            **({"io_method": "sync"} if major >= _WITH_IO_METHOD else {}),
            "max_logical_replication_workers": "0",
            "max_connections": "60",
            # A server process keeps 4 to 12 MB. The pools reuse the most recently used connection and test it first.
            "idle_session_timeout": "60s",
            "random_page_cost": "1.1",
            "jit": "off",
            "log_timezone": "UTC",
            "timezone": "UTC",
        }

    def _control(
        self, programs: PostgresPrograms, account: Account, command: list[str | Path], timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        return self._run_as(
            account, [programs.folder / "pg_ctl", "-D", self._data, "-w", *command], timeout_s
        )

    def _run_as(
        self, account: Account, command: list[str | Path], timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        try:
            return account.run(command, cwd=Path("/"), timeout_s=timeout_s)
        except (subprocess.TimeoutExpired, OSError) as error:
            raise CannotStart(f"PostgreSQL: {error}{tail(self.log)}") from error

    def _answers(self) -> bool:
        """Whether a server responds on the socket, even one that /proc does not show (another container's)."""
        try:
            with closing(self._connect("postgres")):
                return True
        except psycopg2.OperationalError:
            return False

    def _make_database(self) -> None:
        with closing(self._connect("postgres")) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,))
                if cursor.fetchone() is None:
                    cursor.execute(f"CREATE DATABASE {DATABASE}")

    def _connect(self, database: str) -> "psycopg2.extensions.connection":
        return psycopg2.connect(
            host=str(self._run), port=_PORT, user=USER, dbname=database, connect_timeout=5
        )


def _memory_mib() -> int:
    match = re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    return int(match[1]) // 1024 if match else 1024
