"""One session of `fleetprof up`, from preflight to the last table and a clean stop.

A terminal shows a live table of the hottest functions; other outputs get a line periodically. All figures come from
the API.
"""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console
from rich.live import Live

from services.api.login_links import mint_login_url
from services.api.signing import session_secret
from services.configuration.settings import Settings
from services.deployment.all_in_one import LocalDeployment
from services.deployment.database_setup import Sampling
from services.deployment.drain import ingest_last, showing_progress
from services.deployment.local_api import LocalApi
from services.deployment.preflight import Verdict, judge, read_facts
from services.deployment.running_deployment import lock_state_dir, publish_deployment, url_command
from services.errors import CannotStart, NotRunning
from services.process_setup.stop_signals import StopRequest
from services.views import terminal
from simulation.fleet_plan import FleetPlan

REFRESH_S = 2.0
QUIET_REFRESH_S = 10.0
"""Seconds between lines of output without a terminal."""
POLL_S = 0.5
"""Seconds between two checks that every part and server runs; each check reads /proc."""
LIVE_WINDOW = timedelta(hours=1)
"""Longest range of the live table: a table of days of data would be summed every two seconds."""


def run(
    settings: Settings,
    sampling: Sampling,
    *,
    seconds: float | None,
    rows: int,
    console: Console,
    fleet: FleetPlan | None = None,
    usual: Path | None = None,
) -> None:
    """Run until a stop is requested, or for `seconds` after the deployment is up; then print the table.

    `usual` is the state directory that commands use by default, None if unknown. With a `fleet`, its machines are
    visited in place of this one. Raises CannotStart or AlreadyRunning. Every started part is stopped in any case.
    """
    verdict = Verdict(None, whole_machine=True) if fleet else judge(read_facts())
    if verdict.problem is not None:
        raise CannotStart(verdict.problem)
    stop_request = StopRequest()
    with lock_state_dir(settings.state_dir, usual), stop_request.handling_signals():
        deployment = LocalDeployment(
            settings,
            sampling,
            lambda sentence: console.print(sentence, style="dim", highlight=False),
            stop_requested=stop_request.event.is_set,
            fleet=fleet,
        )
        console.print(f"Starting fleetprof with the state directory {settings.state_dir}", highlight=False)
        if fleet is not None:
            console.print(
                f"Simulating a fleet of {fleet.machines:,} machines (seed {fleet.seed}): all data is simulated, "
                "and this machine is not profiled. To use the data with other commands, set\n"
                f"FLEETPROF_STATE_DIR={settings.state_dir}",
                style="yellow",
                soft_wrap=True,
            )
        if not verdict.whole_machine:
            console.print(
                "Without privileges: only your own processes are profiled, without kernel code. "
                "Run as root to profile the whole machine.",
                style="yellow",
            )
        try:
            deployment.start()
            publish_deployment(settings.state_dir, deployment.running)
            with stop_request.second_interrupt():
                _profile(
                    settings,
                    deployment,
                    stop_request,
                    seconds=seconds,
                    rows=rows,
                    console=console,
                    usual=usual,
                )
        finally:
            try:
                with showing_progress(console, "Stopping …"):
                    deployment.stop()
            finally:
                deployment.stop()  # has ended already, unless writing to a closed terminal failed
            console.print(f"Stopped. The data is in {settings.state_dir}.", style="dim", highlight=False)


def _profile(
    settings: Settings,
    deployment: LocalDeployment,
    stop_request: StopRequest,
    *,
    seconds: float | None,
    rows: int,
    console: Console,
    usual: Path | None,
) -> None:
    api = LocalApi(deployment.running.api_url, deployment.token)
    begun = datetime.now(UTC)
    secret = session_secret(settings.state_dir, settings.session_secret_file)
    url = mint_login_url(secret, deployment.running.api_url)
    console.print(f"\nBrowse  {url}\n", style="bold", highlight=False, soft_wrap=True)
    if deployment.other_port is not None:
        console.print(deployment.other_port, style="yellow", soft_wrap=True)
    console.print(
        f"The link works once; `{url_command(settings.state_dir, usual)}` prints another one. Ctrl-C stops all processes.",
        style="dim",
        markup=False,
        soft_wrap=True,
    )
    deadline = None if seconds is None else time.monotonic() + seconds
    _watch(deployment, api, begun, stop_request, deadline, console=console, rows=rows)
    ingest_last(deployment, api.waiting, console)
    # A cached response may precede the last captures: a run of seconds would end without a sample.
    answer, status = api.table(begun, rows, uncached=True), api.status(uncached=True)
    ended = datetime.now(UTC)
    console.print()
    console.print(terminal.totals_line(answer), soft_wrap=True)
    for line in terminal.status_lines(status):
        console.print(line, soft_wrap=True)
    if answer.rows:
        console.print(terminal.top_table(answer, rows=rows))
    for line in terminal.nameless_lines(status):
        console.print(line, soft_wrap=True)
    if deployment.fleet is not None and answer.rows:
        from simulation.comparison import compared  # noqa: PLC0415 - needed for made-up fleets only
        from simulation.ground_truth import Wanted, truth  # noqa: PLC0415

        with showing_progress(console, "Computing the true values …"):
            found = truth(deployment.fleet.model(), Wanted(begun.timestamp(), ended.timestamp()))
        console.print()
        console.print(compared(answer, found, rows=rows))


def _watch(
    deployment: LocalDeployment,
    api: LocalApi,
    begun: datetime,
    stop_request: StopRequest,
    deadline: float | None,
    *,
    console: Console,
    rows: int,
) -> None:
    """Show results until a stop is requested or the time is over, and keep the parts running."""
    live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
    interval = REFRESH_S if live else QUIET_REFRESH_S
    shown = 0.0
    if live:
        live.start()
    try:
        while not stop_request.event.wait(POLL_S):
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return
            for sentence in deployment.tend():
                console.print(sentence, style="yellow", highlight=False)
            if now - shown < interval:
                continue
            shown = now
            try:
                answer = api.table(max(begun, datetime.now(UTC) - LIVE_WINDOW), rows)
                status = api.status() if live else None
            except NotRunning as error:
                console.print(str(error), style="yellow", highlight=False)
                continue
            if live and status is not None:
                room = max(5, min(rows, console.height - 8))
                live.update(terminal.live(answer, status, rows=room), refresh=True)
            else:
                console.print(terminal.totals_line(answer), soft_wrap=True)
    finally:
        if live:
            live.stop()
