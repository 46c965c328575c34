"""How long answers take: to a query engine in this process, and over HTTP to a server of its own.

Nothing is answered twice and no result is kept; every answer has its intervals. Cells of closed days stay decoded
between questions, as in a server; a kind of its own asks with nothing decoded.
"""

from __future__ import annotations

import gc
import http.client
import os
import secrets
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlencode

import numpy as np
from sqlalchemy import text

from benchmarks.store.draws import Draws
from services.allocator import keep_giving_back, reuse_arrays, share_arenas
from services.api.encoding import MEDIA_TYPE
from services.api.leftovers import PAUSE_S
from storage.database import open_engine
from storage.errors import BudgetExceeded
from storage.query.engine import QueryEngine
from storage.query.selections.times import format_time
from storage.query.shapes.callers import CallersQuestion
from storage.query.shapes.flame import FlameQuestion
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.table import TableQuestion
from storage.query.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

    from storage.query.selections.selection import Selection

_SEED: Final = 11
_PATIENCE_S: Final = 180.0
_CODINGS: Final = "gzip, deflate, br, zstd"
"""As a browser says it."""
_WARMING: Final = 5
"""Questions of each kind before the clock runs: of pages, connections and code, none is the first."""


@dataclass(frozen=True)
class Counts:
    """How many questions of each kind."""

    fast: int
    slow: int
    """Of those that read chunks."""


@dataclass
class Answered:
    """Milliseconds by kind of question."""

    ms: dict[str, list[float]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    """How many of each kind were given up for their budget; until then they took time like the others."""

    def p95(self, kind: str) -> float:
        """95 of 100 took at most so long."""
        return float(np.percentile(self.ms[kind], 95))

    def median(self, kind: str) -> float:
        """The middle one."""
        return float(np.median(self.ms[kind]))


class Asking:
    """A query engine whose tree is built, and an API process beside it."""

    def __init__(self, url: str, scratch: Path, popularity: npt.NDArray[np.float64], counts: Counts) -> None:
        """`popularity`: share of each application in the fleet's process groups."""
        self._counts = counts
        self.draws = Draws(popularity, _SEED)
        self._engine = open_engine(url, application="bench")
        self.queries = QueryEngine(self._engine)
        with self._engine.connect() as connection:
            self._stacks: int = connection.execute(text("SELECT count(*) FROM stack")).scalar_one()
        self._server = _Server(url, scratch, self._stacks)

    def __enter__(self) -> Self:
        """Wait until both have their trees. This process has memory as the API has."""
        share_arenas()
        reuse_arrays()
        keep_giving_back(PAUSE_S)
        gc.collect()
        gc.freeze()  # the fleet that was made here is in no server's memory, nor looked through while it answers
        try:
            self.queries.warm()
            deadline = time.monotonic() + _PATIENCE_S
            while self.queries.caches()["stacks"].rows < self._stacks:
                _wait(deadline, "the tree of stacks was not built in time")
            self._server.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End the server."""
        self._server.stop()
        self.queries.close()
        self._engine.dispose()

    def ask(self) -> Answered:
        """Questions of every kind, in turn a kind."""
        hot = self._hot()
        draws, ask = self.draws, self.queries.ask
        found = Answered()

        def raw() -> object:
            chosen = draws.week(application=draws.application(), version=draws.version())
            return ask(TableQuestion(chosen, ("function",)))

        def undecoded_flame() -> object:
            self.queries.forget_decoded()
            return ask(FlameQuestion(draws.week(application=draws.application())))

        def undecoded() -> object:
            self.queries.forget_decoded()
            return ask(TableQuestion(draws.month(), ("function",), Page(limit=100)))

        kinds: dict[str, tuple[int, Callable[[], object]]] = {
            "app_week_flame": (
                self._counts.fast,
                lambda: ask(FlameQuestion(draws.week(application=draws.application()))),
            ),
            "fleet_month_table": (
                self._counts.fast,
                lambda: ask(TableQuestion(draws.month(), ("function",), Page(limit=100))),
            ),
            "raw_filter": (self._counts.slow, raw),
            "callers": (
                self._counts.fast,
                lambda: ask(
                    CallersQuestion(draws.week(application=draws.application()), Subject(draws.one_of(hot)))
                ),
            ),
            "http_flame": (
                self._counts.fast,
                lambda: self._server.flame(draws.week(application=draws.application())),
            ),
            "fleet_month_table_undecoded": (self._counts.slow, undecoded),
            "app_week_flame_undecoded": (self._counts.fast, undecoded_flame),
        }
        for kind, (count, one) in kinds.items():
            for _ in range(_WARMING):
                with suppress(BudgetExceeded):
                    one()
            took = []
            refused = 0
            for _ in range(count):
                began = time.perf_counter()
                try:
                    one()
                except BudgetExceeded:
                    refused += 1
                took.append((time.perf_counter() - began) * 1e3)
            found.ms[kind], found.refused[kind] = took, refused
        return found

    def _hot(self) -> list[int]:
        """The functions that most of the fleet's time passes through, kernel and libraries first of all."""
        found = self.queries.ask(
            TableQuestion(self.draws.month(), ("function",), Page(Sort.TOTAL_DESC, limit=200))
        )
        return [row.function_id for row in found.table.rows if row.function_id is not None]


def _wait(deadline: float, why: str) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError(why)
    time.sleep(0.1)


class _Server:
    """`fleetprof api` on a port of this machine."""

    def __init__(self, url: str, scratch: Path, stacks: int) -> None:
        """`stacks`: how many its tree will have."""
        self._stacks = stacks
        self._token = secrets.token_hex(24)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._log = scratch / "api.log"
        self._environment = {
            **os.environ,
            "FLEETPROF_DATABASE_URL": url,
            "FLEETPROF_STATE_DIR": str(scratch / "state"),
            "FLEETPROF_API_TOKENS": f"viewer:{self._token}",
            "FLEETPROF_ANSWER_SECONDS": "0",
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)

    def start(self) -> None:
        """Start it and wait until its tree is built."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "services", "api", "--port", str(self._port)],
                env=self._environment, stdout=log, stderr=log,
            )  # fmt: skip
        deadline = time.monotonic() + _PATIENCE_S
        while not self._warm():
            if self._process.poll() is not None:
                raise RuntimeError(f"the API did not start: {self._log.read_text()[-2000:]}")
            _wait(deadline, "the API was not ready in time")

    def stop(self) -> None:
        """End it."""
        self._connection.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def flame(self, selection: Selection) -> int:
        """Ask for a flame graph in its binary form; how many bytes it is."""
        asked = {
            "from": format_time(selection.start), "to": format_time(selection.end), "select": selection.select,
            "campaign": selection.campaign,
        }  # fmt: skip
        return len(self._get(f"/api/v1/flame?{urlencode(asked)}", MEDIA_TYPE, _CODINGS))

    def _get(self, path: str, accept: str, encoding: str = "identity") -> bytes:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept, "Accept-Encoding": encoding}
        try:
            self._connection.request("GET", path, headers=headers)
            response = self._connection.getresponse()
        except http.client.RemoteDisconnected:  # nothing was asked of it for a minute
            self._connection.close()
            self._connection.request("GET", path, headers=headers)
            response = self._connection.getresponse()
        content = response.read()
        if response.status == HTTPStatus.SERVICE_UNAVAILABLE:
            raise BudgetExceeded(content[:500].decode(errors="replace"), limit="time")
        if response.status != HTTPStatus.OK:
            raise RuntimeError(f"{path}: {response.status} {content[:500]!r}")
        return content

    def _warm(self) -> bool:
        try:
            told = self._get("/metrics", "text/plain")
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return False
        return any(
            line.startswith(b'fleetprof_cache_rows{cache="stacks"}')
            and float(line.split()[-1]) >= self._stacks
            for line in told.splitlines()
        )
