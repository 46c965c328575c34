"""The questions over HTTP to an API process as deployed: one, two and eight clients, and after restarts."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from sqlalchemy import text

from benchmarks.store.api_server import STATE, ApiServer
from benchmarks.store.query_phase import draws
from benchmarks.store.questions import Answered

if TYPE_CHECKING:
    from benchmarks.store.draws import Draws
    from benchmarks.store.run import Run

_CLIENTS: Final = (2, 8)
_WARMING: Final = 5
_FILES: Final = 3


def serve(run: Run) -> None:
    """Request flame graphs by one, two and eight concurrent clients, and everything as pprof."""
    run.say("serve: starting the API, which has no file of stacks yet")
    shutil.rmtree(run.folder / STATE, ignore_errors=True)
    with ApiServer(run.url, run.folder, _stacks(run)) as server:
        run.add(
            "api_first_ready_s", server.ready_s, "the first start on a machine: it builds the file of stacks"
        )
    size = sum(path.stat().st_size for path in (run.folder / STATE).rglob("*") if path.is_file())
    run.add(
        "state_bytes_per_fact",
        size / run.loaded.facts,
        "files of stacks and names on each machine with an API",
    )
    run.say("serve: starting it again")
    with ApiServer(run.url, run.folder, _stacks(run)) as server:
        run.add(
            "api_ready_s",
            server.ready_s,
            f"{_stacks(run):,} stacks, their file is there; it answers after {server.answers_s:.1f} s",
        )
        run.add("api_rss_mib", server.rss_mib(), "when it is ready")
        drawn = draws(run, 2)
        client = server.client()
        for _ in range(_WARMING):
            client.flame(drawn.week(application=drawn.application()))
        one = Answered()
        for _ in range(run.size.questions):
            selection = drawn.week(application=drawn.application())
            one.add("flame", lambda: client.flame(selection))  # noqa: B023 - called at once
        run.add("p95_ms_http_flame", one.p95("flame"), one.says("flame"))
        for clients in _CLIENTS:
            _beside(run, server, clients)
        files = Answered()
        sizes = [0]
        for _ in range(_FILES):
            files.add("pprof", lambda: sizes.append(client.pprof(drawn.everything())))
        run.add(
            "ms_pprof_of_everything",
            float(np.median(files.ms["pprof"])),
            f"{files.says('pprof')}; {sizes[-1] / 1e6:.1f} MB, all of the campaign's history",
        )
        run.add("api_rss_mib_after", server.rss_mib(), "when it has answered all of these")


def _beside(run: Run, server: ApiServer, clients: int) -> None:
    """Run concurrent clients; each draws its own windows and sends the next request after each response."""
    count = max(2, run.size.questions // 2)

    def one(number: int) -> Answered:
        client, drawn, found = server.client(), draws(run, 100 * clients + number), Answered()
        for _ in range(count):
            selection = drawn.week(application=drawn.application())
            found.add("flame", lambda: client.flame(selection))  # noqa: B023 - called at once
        return found

    with ThreadPoolExecutor(clients) as pool:
        answered = list(pool.map(one, range(clients)))
    together = Answered(
        {"flame": [ms for each in answered for ms in each.ms["flame"]]},
        {"flame": sum(each.refused.get("flame", 0) for each in answered)},
    )
    run.add(f"p95_ms_{clients}_clients_flame", together.p95("flame"), together.says("flame"))


def restart(run: Run) -> None:
    """Time the first flame graph after a restart of PostgreSQL and the API; files may be in the system's cache."""
    answered, stacks = Answered(), _stacks(run)
    drawn = draws(run, 3)
    for number in range(run.size.restarts):
        run.say(f"cold: restart {number + 1} of {run.size.restarts}")
        run.engine.dispose()
        run.server.stop()
        run.server.start()
        with ApiServer(run.url, run.folder, stacks) as server:
            ask = partial(_first, server, drawn)
            answered.add("flame", ask)
    run.add(
        "p95_ms_cold_flame",
        answered.p95("flame"),
        f"{answered.says('flame')}: the first after a restart of both",
    )


def _first(server: ApiServer, drawn: Draws) -> int:
    return server.client().flame(drawn.week(application=drawn.application()))


def _stacks(run: Run) -> int:
    with run.engine.connect() as connection:
        return connection.scalar(text("SELECT sum(stacks) FROM stack_block")) or 0
