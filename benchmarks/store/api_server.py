"""`fleetprof api` as a separate process, as deployed, on a local port."""

from __future__ import annotations

import http.client
import os
import secrets
import socket
import subprocess
import sys
import time
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlencode

from benchmarks.store.questions import PATIENCE_S
from services.api.formats import pprof
from services.api.formats.flame_columns import MEDIA_TYPE
from storage.errors import BudgetExceeded
from storage.query.selections.times import format_time

if TYPE_CHECKING:
    from pathlib import Path

    from storage.query.selections.selection import Selection

STATE: Final = "state"
"""Its folder below the run's."""
_LOOK_EVERY_S: Final = 0.1
_CODINGS: Final = "gzip, deflate, br, zstd"
"""Encodings that browsers accept."""


class ApiServer:
    """The process; inside the block it has mapped the file of stacks. Its response cache is off."""

    def __init__(self, url: str, scratch: Path, stacks: int) -> None:
        """`stacks`: number of stacks in the database."""
        self._stacks = stacks
        self._token = secrets.token_hex(24)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._log = scratch / "api.log"
        self._environment = {
            **os.environ,
            "FLEETPROF_DATABASE_URL": url,
            "FLEETPROF_STATE_DIR": str(scratch / STATE),
            "FLEETPROF_API_TOKENS": f"viewer:{self._token}",
            "FLEETPROF_RESPONSE_CACHE_TTL": "0",
        }
        self._process: subprocess.Popen[bytes] | None = None
        self.answers_s = 0.0
        """Seconds from its start until it reports readiness."""
        self.ready_s = 0.0
        """Seconds until it had also mapped the file of stacks."""

    def __enter__(self) -> Self:
        began = time.monotonic()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "services", "api", "--port", str(self._port)],
                env=self._environment, stdout=log, stderr=log,
            )  # fmt: skip
        try:
            self._until(self._answers)
            self.answers_s = time.monotonic() - began
            self._until(self._has_stacks)
            self.ready_s = time.monotonic() - began
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def client(self) -> Client:
        """A separate connection, for one thread."""
        return Client(self._port, self._token)

    def rss_mib(self) -> float:
        """Current resident memory, including shared pages."""
        assert self._process is not None
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as status:  # noqa: PTH123 - no file
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))

    def _until(self, holds: object) -> None:
        assert callable(holds)
        assert self._process is not None
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if self._process.poll() is not None:
                raise RuntimeError(f"the API did not start: {self._log.read_text()[-2000:]}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"the API was not ready in time: {self._log.read_text()[-2000:]}")
            time.sleep(_LOOK_EVERY_S)

    def _answers(self) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return self.client().get("/readyz", "application/json")[0] == HTTPStatus.OK
        return False

    def _has_stacks(self) -> bool:
        _, metrics = self.client().get("/metrics", "text/plain")
        return any(
            line.startswith(b'fleetprof_cache_rows{cache="stack_file"}')
            and float(line.split()[-1]) >= self._stacks * 7 / 8  # the queries read what the file lacks
            for line in metrics.splitlines()
        )


class Client:
    """One connection; its requests are served one after the other."""

    def __init__(self, port: int, token: str) -> None:
        self._token = token
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def flame(self, selection: Selection) -> int:
        """Request a flame graph in its binary form; returns its bytes."""
        return self._bytes("flame", selection, MEDIA_TYPE)

    def pprof(self, selection: Selection) -> int:
        """Request every stack as a pprof file; returns its bytes."""
        return self._bytes("stacks", selection, pprof.MEDIA_TYPE)

    def get(self, path: str, accept: str, codings: str = "identity") -> tuple[int, bytes]:
        """Status and body as sent."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept, "Accept-Encoding": codings}
        try:
            self._connection.request("GET", path, headers=headers)
            response = self._connection.getresponse()
        except http.client.RemoteDisconnected:  # the server closes connections that are idle for long
            self._connection.close()
            self._connection.request("GET", path, headers=headers)
            response = self._connection.getresponse()
        return response.status, response.read()

    def _bytes(self, route: str, selection: Selection, accept: str) -> int:
        parameters = {
            "from": format_time(selection.start), "to": format_time(selection.end), "select": selection.select,
            "campaign": selection.campaign,
        }  # fmt: skip
        path = f"/api/v1/{route}?{urlencode(parameters)}"
        status, content = self.get(path, accept, _CODINGS)
        if status in {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS}:
            raise BudgetExceeded(content[:500].decode(errors="replace"), limit="time")
        if status != HTTPStatus.OK:
            raise RuntimeError(f"{path}: {status} {content[:500]!r}")
        return len(content)
