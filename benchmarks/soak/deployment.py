"""A separate `fleetprof up --simulate`, with readings of its database, its logs and its API."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from services.deployment.running_deployment import RunningDeployment, find_running_deployment
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from storage.database import open_engine
from storage.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterator

READY_S: Final = 300.0
_COUNTS: Final = text("""
    SELECT (SELECT count(*) FROM capture WHERE ingested > 0) AS ingested,
           (SELECT count(*) FROM capture WHERE ingested < wanted) AS waiting,
           (SELECT count(*) FROM capture WHERE quarantined IS NOT NULL) AS quarantined,
           (SELECT coalesce(extract(epoch FROM now() - min(archived_at)), 0)::float8 FROM capture
             WHERE ingested < wanted) AS lag_s,
           (SELECT count(*) FROM rollup_queue) AS to_merge,
           (SELECT coalesce(sum(stacks), 0) FROM stack_block) AS stacks,
           (SELECT count(DISTINCT v.machine_id)::float8 / (SELECT greatest(count(*), 1) FROM machine)
              FROM visit v WHERE v.outcome = 'answered') AS met,
           pg_database_size(current_database()) / 1048576.0::float8 AS database_mib
""")
_WRONG: Final = re.compile(r"\b(error|critical|exception)\b|traceback", re.IGNORECASE)
_CACHE: Final = re.compile(r'^fleetprof_cache_(rows|bytes)\{cache="(\w+)"\} (\S+)$', re.MULTILINE)
# The window is full long before the end; after that, responses read a constant amount of data.
_QUERIES: Final = (
    "table?by=function&limit=50&from=now-5m",
    "flame?from=now-5m&nodes=20000",
    "table?by=application&from=now-5m",
    "status",
)


class Ended(Exception):
    """The deployment has ended; the sentence contains its last output."""


class SoakDeployment:
    """A running deployment. Start it with `soak_deployment`."""

    def __init__(self, folder: Path, machines: int, process: subprocess.Popen[bytes], token: str) -> None:
        self.folder = folder
        self.home = folder / "simulated" / str(machines)
        self.process = process
        self._token = token

    def wait_until_ready(self) -> None:
        """Return once its address file exists. Raises Ended."""
        end = time.monotonic() + READY_S
        while self._running() is None:
            self.check()
            if time.monotonic() > end:
                raise Ended(f"It was not ready in {READY_S:.0f} s.{self.last_log_line()}")
            time.sleep(0.5)

    def check(self) -> None:
        """Raises Ended unless it runs."""
        if self.process.poll() is not None:
            raise Ended(f"`up` ended with {self.process.returncode}.{self.last_log_line()}")

    def last_log_line(self) -> str:
        """End of its output."""
        return "\n" + (self.folder / "up.out").read_text(errors="replace")[-2000:]

    def servers(self) -> list[tuple[str, int]]:
        """Servers, which are not children of `up`, with their process ids."""
        found = [
            ("postgres", EmbeddedPostgres(self.home / "postgres").pid),
            ("valkey", EmbeddedValkey(self.home / "valkey").pid),
        ]
        return [(name, pid) for name, pid in found if pid is not None]

    def counts(self) -> dict[str, float]:
        """Ingested captures, waiting captures, the longest wait (s), and the database's size in MiB."""
        running = self._running()
        if running is None:
            raise Ended(f"It says no more where its parts are.{self.last_log_line()}")
        engine = open_engine(running.database_url, application="soak", pool_size=1)
        try:
            with engine.connect() as connection:
                return {
                    name: float(value) for name, value in connection.execute(_COUNTS).mappings().one().items()
                }
        except DatabaseError as error:
            raise Ended(str(error)) from error
        finally:
            engine.dispose()

    def ask(self) -> float:
        """Send a browser's requests to the API; returns the slowest response's seconds. Raises Ended."""
        running = self._running()
        slowest = 0.0
        for query in _QUERIES if running else ():
            begun = time.monotonic()
            self._get(f"{running.api_url}/api/v1/{query}")  # type: ignore[union-attr]  # there is one, or no query
            slowest = max(slowest, time.monotonic() - begun)
        return slowest

    def caches(self) -> dict[str, float]:
        """Rows and MiB of the API's caches, as the API reports them. Raises Ended."""
        running = self._running()
        if running is None:
            return {}
        metrics = self._get(f"{running.api_url}/metrics").decode()
        return {
            f"{cache}_{unit}" if unit == "rows" else f"{cache}_mib": float(value)
            / (1 if unit == "rows" else 1 << 20)
            for unit, cache, value in _CACHE.findall(metrics)
        }

    def complaints(self) -> list[str]:
        """Lines of its parts' logs that contain errors."""
        return [
            f"{log.name}: {line.strip()[:300]}"
            for log in sorted((self.home / "log").glob("*.log"))
            for line in log.read_text(errors="replace").splitlines()
            if _WRONG.search(line)
        ]

    def _running(self) -> RunningDeployment | None:
        return find_running_deployment(self.home)

    def _get(self, url: str) -> bytes:
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {self._token}"})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                content: bytes = response.read()
                return content
        except OSError as error:
            raise Ended(f"The API does not answer {url}: {error}") from error


@contextmanager
def soak_deployment(machines: int, *, past_days: int = 0) -> Iterator[SoakDeployment]:
    """Run a deployment in a temporary folder, with a past of so many days."""
    folder = Path(tempfile.mkdtemp(prefix="fpsoak-", dir="/tmp"))
    folder.chmod(0o711)
    token = secrets.token_urlsafe(24)
    environment = {k: v for k, v in os.environ.items() if k not in {"DATABASE_URL", "REDIS_URL"}}
    environment |= {"FLEETPROF_STATE_DIR": str(folder), "FLEETPROF_API_TOKENS": f"viewer:{token}"}
    with (folder / "up.out").open("wb") as out:
        process = subprocess.Popen(
            [
                *(sys.executable, "-P", "-m", "services", "up", "--port", "0"),
                *("--simulate", str(machines), "--past-days", str(past_days)),
            ],
            env=environment,
            stdout=out,
            stderr=out,
        )
    stack = SoakDeployment(folder, machines, process, token)
    try:
        stack.wait_until_ready()
        yield stack
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                EmbeddedPostgres(stack.home / "postgres").stop()
                EmbeddedValkey(stack.home / "valkey").stop()
        shutil.rmtree(folder, ignore_errors=True)
