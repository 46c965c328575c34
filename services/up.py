"""`fleetprof up` from preflight to the last table: everything on this machine, then clean away.

With a terminal, a live table of the hottest functions; without one, a line now and then. Either way
the figures are the API's own.
"""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console
from rich.live import Live

from services import terminal
from services.api.auth import mint_login_url
from services.errors import CannotStart, NotRunning
from services.last_captures import going_on, land_last
from services.own_api import OwnApi
from services.preflight import Verdict, judge, read_facts
from services.preparation import Sampling
from services.running import announce, hold, url_command
from services.settings import Settings
from services.signals import Asked
from services.simulate.run import FleetPlan
from services.stack import Stack

REFRESH_S = 2.0
QUIET_REFRESH_S = 10.0
"""Between lines where output is not a terminal."""
LOOK_EACH_S = 0.5
"""Between two looks at whether every part and server runs: each reads /proc."""
LIVE = timedelta(hours=1)
"""What the live table is of, at most: a machine watched for days would else be summed up every two seconds."""


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
    """Run until asked to end, or for `seconds` from when the stack is up; then print the table.

    `usual` is the state directory that commands look into here, None: not known. With a `fleet`, its machines are
    visited instead of this one. Raises CannotStart or AlreadyRunning; whatever was started is stopped again in
    every case.
    """
    verdict = Verdict(None, whole_machine=True) if fleet else judge(read_facts())
    if verdict.problem is not None:
        raise CannotStart(verdict.problem)
    asked = Asked()
    with hold(settings.state_dir, usual), asked.listening():
        stack = Stack(
            settings,
            sampling,
            lambda sentence: console.print(sentence, style="dim", highlight=False),
            asked_to_end=asked.event.is_set,
            fleet=fleet,
        )
        console.print(f"Starting fleetprof with the state directory {settings.state_dir}", highlight=False)
        if fleet is not None:
            console.print(
                f"Simulating a fleet of {fleet.machines:,} machines (seed {fleet.seed}): all data is simulated, "
                "and this machine is not profiled. To use it with other commands, set\n"
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
            stack.start()
            announce(settings.state_dir, stack.running)
            with asked.impatience():
                _profile(settings, stack, asked, seconds=seconds, rows=rows, console=console, usual=usual)
        finally:
            try:
                with going_on(console, "Stopping …"):
                    stack.stop()
            finally:
                stack.stop()  # nothing is left to do, unless the terminal has gone and could not be written to
            console.print(f"Stopped. The data is in {settings.state_dir}.", style="dim", highlight=False)


def _profile(
    settings: Settings,
    stack: Stack,
    asked: Asked,
    *,
    seconds: float | None,
    rows: int,
    console: Console,
    usual: Path | None,
) -> None:
    api = OwnApi(stack.running.api_url, stack.token)
    begun = datetime.now(UTC)
    url = mint_login_url(settings.state_dir, stack.running.api_url)
    console.print(f"\nBrowse  {url}\n", style="bold", highlight=False, soft_wrap=True)
    if stack.other_port is not None:
        console.print(stack.other_port, style="yellow", soft_wrap=True)
    console.print(
        f"The link works once; `{url_command(settings.state_dir, usual)}` prints another one. Ctrl-C stops all processes.",
        style="dim",
        markup=False,
        soft_wrap=True,
    )
    deadline = None if seconds is None else time.monotonic() + seconds
    _watch(stack, api, begun, asked, deadline, console=console, rows=rows)
    land_last(stack, api.waiting, console)
    # What was kept may be from before the last captures landed: a run of seconds would end without a sample.
    answer, status = api.table(begun, rows, fresh=True), api.get("status", fresh=True)
    ended = datetime.now(UTC)
    console.print()
    console.print(terminal.totals_line(answer), soft_wrap=True)
    for line in terminal.status_lines(status):
        console.print(line, soft_wrap=True)
    if answer["rows"]:
        console.print(terminal.hottest(answer, rows=rows))
    for line in terminal.nameless_lines(status):
        console.print(line, soft_wrap=True)
    if stack.fleet is not None and answer["rows"]:
        from services.simulate.comparison import compared  # noqa: PLC0415 - needed for made-up fleets only
        from services.simulate.truth import Wanted, truth  # noqa: PLC0415

        with going_on(console, "Computing the true values …"):
            found = truth(stack.fleet.model(), Wanted(begun.timestamp(), ended.timestamp()))
        console.print()
        console.print(compared(answer, found, rows=rows))


def _watch(
    stack: Stack,
    api: OwnApi,
    begun: datetime,
    asked: Asked,
    deadline: float | None,
    *,
    console: Console,
    rows: int,
) -> None:
    """Show what is found until asked to end or the time is over, and keep the parts running."""
    live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
    interval = REFRESH_S if live else QUIET_REFRESH_S
    shown = 0.0
    if live:
        live.start()
    try:
        while not asked.event.wait(LOOK_EACH_S):
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return
            for sentence in stack.tend():
                console.print(sentence, style="yellow", highlight=False)
            if now - shown < interval:
                continue
            shown = now
            try:
                answer = api.table(max(begun, datetime.now(UTC) - LIVE), rows)
                status = api.get("status") if live else None
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
