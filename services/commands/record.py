"""`fleetprof record`: profile one program on this machine."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.command_line.durations import Duration
from services.errors import CannotRecord

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import Console

    from services.api.formats.stack_profile import StackProfile
    from services.recording.program import Program

_DEFAULT_HZ = 499.0
"""Not a divisor or multiple of common timers, so that samples do not follow them. A busy CPU costs 1–2 % more."""


def record(  # noqa: PLR0917 - the command line is its signature
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND [ARGUMENT]...", help="The program to run.")
    ] = None,
    pid: Annotated[
        int | None,
        typer.Option(
            "--pid", "-p", min=1, help="Profile this running process instead, with its descendants."
        ),
    ] = None,
    for_: Annotated[
        float,
        typer.Option(
            "--for",
            parser=Duration,
            metavar="DURATION",
            help="Longest duration; at most 1h. The recording ends earlier when the program does, or by Ctrl C with --pid.",
        ),
    ] = "1h",  # type: ignore[assignment]  # typer parses it
    rate: Annotated[
        float, typer.Option(min=1, max=9999, metavar="RATE", help="Samples per second of CPU time.")
    ] = _DEFAULT_HZ,
    event: Annotated[
        str,
        typer.Option(
            help="Event to sample instead of CPU time, with an optional period: page-faults, cache-misses@1000 (docs/events.md)."
        ),
    ] = "cpu",
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help=(
                "File to write; repeatable. The suffix is the format: .pb.gz (pprof), .html (flame graph), "
                ".collapsed, .speedscope.json. Default: PROGRAM.pb.gz and PROGRAM.html in the current folder."
            ),
        ),
    ] = None,
    rows: Annotated[
        int, typer.Option(min=1, max=1000, metavar="ROWS", help="Functions in the printed table.")
    ] = 20,
    open_: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-open", help="Open the flame graph in a browser. Default: if a desktop is there."
        ),
    ] = None,
) -> None:
    """Profile one program: run it or attach to it, print its hottest functions, write pprof and a flame graph.

    All threads and all processes that it starts are sampled, with kernel code if this user may see it (root or
    CAP_PERFMON). Nothing is stored and no server is needed. The exit code is that of COMMAND.

    Examples: `fleetprof record -- python3 app.py`, `fleetprof record --pid 4711 --for 30s -o app.pb.gz`
    """
    from rich.console import Console  # noqa: PLC0415 - a command imports what it runs

    from services.command_line.event_options import events_of  # noqa: PLC0415
    from services.recording.program import Command, RunningProcess  # noqa: PLC0415
    from services.recording.sampling import LONGEST_S, Plan  # noqa: PLC0415
    from services.recording.sampling import record as sample  # noqa: PLC0415
    from services.recording.stacks import stack_profile  # noqa: PLC0415
    from services.recording.symbols import cache_folder, resolve  # noqa: PLC0415
    from services.recording.writers import writer_of  # noqa: PLC0415
    from services.views import recording as view  # noqa: PLC0415

    if (pid is None) == (not command):
        raise typer.BadParameter("Give either a command after --, or --pid PID.", param_hint="COMMAND")
    if not 0 < for_ <= LONGEST_S:
        raise typer.BadParameter(f"{for_:g} s is not within 0 and 1h.", param_hint="--for")
    for path in output or ():
        writer_of(path)  # before the program runs
    wanted = events_of([event], seconds=for_, rate=rate, in_turn=False, flat=False)[0]
    program: Program = RunningProcess(pid) if pid is not None else Command(command or ())
    console = Console(stderr=True, highlight=False)
    with _progress(console, program) as on_progress:
        capture = sample(program, Plan(wanted.event, wanted.rate_hz, wanted.period, for_), on_progress)
    exit_code = program.finish()
    for note in capture.notes:
        console.print(note, style="yellow")
    with console.status("Reading symbols …"):
        resolved = resolve(capture, cache_folder())
        profile = stack_profile(capture, resolved, title=f"fleetprof record: {program.title}")
    if not len(profile.table):
        raise CannotRecord(_nothing(program, event))
    shown = Console(highlight=False)
    shown.print(view.summary(profile))
    shown.print(view.hottest(profile, rows=rows))
    written = _write(
        profile, output or [Path(f"{program.name}.pb.gz"), Path(f"{program.name}.html")], console
    )
    _open(written, open_)
    if exit_code:
        raise typer.Exit(exit_code)


def _nothing(program: "Program", event: str) -> str:
    return (
        f"No sample of {event} was taken: {program.title} used too little CPU time. "
        "Record for longer, or set a higher --rate."
    )


def _write(profile: "StackProfile", paths: list[Path], console: "Console") -> list[Path]:
    from services.command_line import output_file  # noqa: PLC0415
    from services.recording.writers import writer_of  # noqa: PLC0415

    for path in paths:
        size = output_file.write(writer_of(path)(profile), path)
        console.print(f"{path}: {size:,} bytes", soft_wrap=True)
    return paths


def _open(paths: list[Path], wanted: bool | None) -> None:
    """Open the first HTML file in a browser."""
    import os  # noqa: PLC0415
    import webbrowser  # noqa: PLC0415

    page = next((path for path in paths if path.suffix == ".html"), None)
    desktop = sys.stdout.isatty() and any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if page is not None and (desktop if wanted is None else wanted):
        webbrowser.open(page.resolve().as_uri())


def _progress(
    console: "Console", program: "Program"
) -> "AbstractContextManager[Callable[[float, int], None]]":
    """A line with the elapsed time on a terminal; elsewhere one line at the start of sampling."""
    from contextlib import contextmanager  # noqa: PLC0415

    @contextmanager
    def line() -> "Iterator[Callable[[float, int], None]]":
        with console.status("") as status:
            yield lambda elapsed, samples: status.update(
                f"Recording {program.name} … {elapsed:.0f} s, {samples:,} samples"
            )

    @contextmanager
    def plain() -> "Iterator[Callable[[float, int], None]]":
        yield (
            lambda elapsed, _: (
                None if elapsed else console.print(f"Recording {program.title}", soft_wrap=True)
            )
        )

    return line() if console.is_terminal else plain()
