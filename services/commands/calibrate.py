"""`fleetprof calibrate`: constants of platforms that models need besides counters, measured by a gateway or entered."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from services.command_line.durations import Duration
from services.configuration.settings import read_settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from collector.calibration_runner import CalibrationResult
    from fleetpb import gateway_pb2
    from storage.calibrations import Calibration

ANY = ""
KindName = Literal["smt", "memory-latency", "memory-bandwidth"]
WorkName = Literal["integer", "float", "memory"]
"""Names of `storage.calibrations` and `collector.calibration_runner`, which are imported only when a command runs."""

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Constants of platforms that counters do not measure: overlap coefficients, memory latency and "
        "bandwidth.\n\nReports of capacity (`fleetprof report apu`) and frequency use them. There is one constant for "
        "each kind, platform and application."
    ),
)

Machine = Annotated[
    str, typer.Argument(help="An idle machine of the platform: see `fleetprof machines list`.")
]
For = Annotated[
    float,
    typer.Option("--for", parser=Duration, metavar="DURATION", help="Duration of all measurements together; the gateway may shorten it."),
]  # fmt: skip
Repetitions = Annotated[
    int, typer.Option(min=1, max=50, help="Measurements of each kind; they determine the interval.")
]
Application = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Application or class of applications; empty: all applications that have no constant of their own.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the results and store nothing.")]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Use the platform that the gateway reports, even if the inventory has another one for the machine.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
KindOf = Annotated[
    KindName, typer.Argument(metavar="KIND", help="smt, memory-latency (ns) or memory-bandwidth (bytes/s).")
]
Platform = Annotated[str, typer.Argument(help="CPU model, as in `fleetprof machines list`.")]


@app.command()
def smt(  # noqa: PLR0917 - the command line is its signature
    machine: Machine,
    work: Annotated[
        WorkName, typer.Option(help="Load of the threads; docs/models.md describes each.")
    ] = "integer",
    application: Application = ANY,
    for_: For = "5s",  # type: ignore[assignment]  # typer parses it
    repetitions: Repetitions = 5,
    dry_run: DryRun = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Measure the overlap coefficient on an idle core: one thread alone, then both.

    Needs a gateway started with --allow-calibration, and a machine with two threads per core.

    Example: `fleetprof calibrate smt node7 --work float --application render`
    """
    from collector.calibration_figures import overlap_figure  # noqa: PLC0415 - a command imports what it runs
    from collector.calibration_runner import Workload, smt_request  # noqa: PLC0415

    request = smt_request(Workload(work), for_, repetitions)
    found = _measured(machine, request, f"Measuring a core of {machine}", force=force)
    with _answered():
        figure = overlap_figure(found.single, found.both, found.platform, application, machine)
    _deliver([figure], found, dry_run=dry_run, as_json=as_json)


@app.command()
def memory(  # noqa: PLR0917 - the command line is its signature
    machine: Machine,
    for_: For = "5s",  # type: ignore[assignment]  # typer parses it
    repetitions: Repetitions = 5,
    dry_run: DryRun = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Measure the latency of a load that misses every cache, and the read bandwidth of all cores of a socket.

    Needs a gateway started with --allow-calibration.

    Example: `fleetprof calibrate memory node7 --for 10s`
    """
    from collector.calibration_figures import memory_figures  # noqa: PLC0415
    from collector.calibration_runner import memory_request  # noqa: PLC0415

    request = memory_request(for_, repetitions)
    found = _measured(machine, request, f"Measuring the memory of {machine}", force=force)
    with _answered():
        figures = memory_figures(found, machine)
    _deliver(figures, found, dry_run=dry_run, as_json=as_json)


@app.command()
def throughput(  # noqa: PLR0917 - the command line is its signature
    platform: Platform,
    single: Annotated[
        str, typer.Argument(help="Throughputs of one thread alone: comma-separated numbers, or @FILE.")
    ],
    both: Annotated[
        str, typer.Argument(help="Throughputs of both threads of the core together, in the same unit.")
    ],
    application: Application = ANY,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Store an overlap coefficient from your own stress tests, one throughput per repetition.

    @FILE reads the last column of a CSV file and skips a heading line.

    Example: `fleetprof calibrate throughput "Intel Xeon" 2499904 2274404 --application search` stores 2.198.
    """
    from collector.calibration_figures import overlap_figure  # noqa: PLC0415

    alone, together = _numbers("SINGLE", single), _numbers("BOTH", both)
    with _answered():
        figure = overlap_figure(alone, together, platform, application)
    _deliver([figure], None, dry_run=dry_run, as_json=as_json)


@app.command("set")
def set_(  # noqa: PLR0917 - the command line is its signature
    kind: KindOf,
    platform: Platform,
    value: Annotated[float, typer.Argument(help="The constant.")],
    application: Application = ANY,
    lo: Annotated[float | None, typer.Option(help="Lower end of its 95 % interval.")] = None,
    hi: Annotated[
        float | None, typer.Option(help="Upper end. Without both ends the constant counts as exact.")
    ] = None,
) -> None:
    """Store a known constant.

    Example: `fleetprof calibrate set memory-latency "Intel Xeon" 91 --lo 88 --hi 94`
    """
    from services.views import calibrations as view  # noqa: PLC0415
    from storage.calibrations import Calibration, Kind  # noqa: PLC0415

    try:
        figure = Calibration(Kind(kind), platform, application, value, lo, hi)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    _keep([figure])
    _warn_of_unknown_clients(platform)
    typer.echo(f"Stored: {view.subject(figure)} is {view.worded(figure)}.")


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List all stored constants and their sources."""
    from rich.console import Console  # noqa: PLC0415

    from services.views import calibrations as view  # noqa: PLC0415
    from storage import calibrations  # noqa: PLC0415

    with _store() as connection:
        figures = calibrations.read(connection)
    if as_json:
        _print_json({"calibrations": [_plain(figure) for figure in figures]})
    elif figures:
        Console(highlight=False).print(view.table(figures))
    else:
        typer.echo(
            "No constant is stored. Measure one: fleetprof calibrate smt MACHINE, fleetprof calibrate memory "
            "MACHINE"
        )


@app.command()
def forget(kind: KindOf, platform: Platform, application: Application = ANY) -> None:
    """Delete a constant. Models then use the constant of all applications, or report that there is none."""
    from storage import calibrations  # noqa: PLC0415

    with _store() as connection:
        gone = calibrations.forget(connection, calibrations.Kind(kind), platform, application)
    what = f"{kind} of {platform}{f' for {application}' if application else ''}"
    if not gone:
        _end(f"Unknown calibration: {what}. List all: fleetprof calibrate list")
    typer.echo(f"Deleted: {what}.")


def _measured(
    machine: str, request: "gateway_pb2.CalibrateRequest", doing: str, *, force: bool
) -> "CalibrationResult":
    """Run the calibration on the machine's gateway. Raises `CollectorError`, `StorageError`."""
    import asyncio  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    from collector.calibration_runner import calibrate  # noqa: PLC0415
    from services.configuration.gateway_credentials import gateway_credentials  # noqa: PLC0415
    from storage import inventory  # noqa: PLC0415

    with _store() as connection:
        known = inventory.find(connection, machine)
    credentials = gateway_credentials(read_settings())
    console = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(doing, total=1.0)
        found = asyncio.run(
            calibrate(
                known.address,
                request,
                credentials,
                platform="" if force else known.platform,
                on_progress=lambda done: progress.update(bar, completed=done),
            )
        )
    if not known.platform:
        console.print(
            f"{machine} has not been described yet, so its platform {found.platform} is not verified.",
            style="yellow",
            markup=False,
        )
    for change in found.changes:
        console.print(f"The gateway changed the request: {change}", style="yellow", markup=False)
    for doubt in found.doubts:
        console.print(f"Doubtful: {doubt}.", style="yellow", markup=False)
    if found.disturbed:
        console.print(
            f"{found.disturbed} more repetitions were discarded: other work ran on the CPUs.",
            style="yellow",
        )
    return found


def _deliver(
    figures: "Sequence[Calibration]", found: "CalibrationResult | None", *, dry_run: bool, as_json: bool
) -> None:
    """Store the constants, unless it is a dry run, and print them."""
    from services.views import calibrations as view  # noqa: PLC0415

    if not dry_run:
        _keep(figures)
    if as_json:
        measured = {} if found is None else _plain_measured(found)
        _print_json({"kept": not dry_run, "calibrations": [_plain(figure) for figure in figures], **measured})
        return
    for figure in figures:
        typer.echo(f"{view.subject(figure)} is {view.worded(figure)}: {view.meaning(figure)}")
    if found is not None and found.working_set_bytes:
        typer.echo(
            f"Loads were spread over {found.working_set_bytes >> 20} MiB; the size of the last cache is "
            f"{f'{found.cache_bytes >> 20} MiB' if found.cache_bytes else 'unknown'}."
        )
    if found is not None:
        typer.echo(f"Measured with: {found.engine}.")
    typer.echo("Dry run: nothing was stored." if dry_run else "Stored. List all: fleetprof calibrate list")


def _plain(figure: "Calibration") -> dict[str, object]:
    from dataclasses import asdict  # noqa: PLC0415

    return asdict(figure) | {"kind": figure.kind.value}


def _plain_measured(found: "CalibrationResult") -> dict[str, object]:
    from dataclasses import asdict  # noqa: PLC0415

    return {"measured": asdict(found)}


def _print_json(document: dict[str, object]) -> None:
    import json  # noqa: PLC0415

    typer.echo(json.dumps(document, indent=2, allow_nan=False))


def _numbers(name: str, text: str) -> list[float]:
    """Parse comma-separated numbers, or those of a file; end the command if there are none."""
    from pathlib import Path  # noqa: PLC0415

    if not text.startswith("@"):
        fields = text.split(",")
    else:
        try:
            lines = Path(text[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise typer.BadParameter(f"Cannot read {text[1:]} ({name}): {error}") from None
        fields = [line.rpartition(",")[2] for line in lines if line.strip()]
        if fields and not _is_number(fields[0]):
            del fields[0]
    wrong = [field for field in fields if not _is_number(field)]
    if wrong or not fields:
        shown = repr(wrong[0].strip()[:40] if wrong else "")
        raise typer.BadParameter(f"Invalid {name} {shown}: expected comma-separated numbers, or @FILE.")
    return [float(field) for field in fields]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _warn_of_unknown_clients(platform: str) -> None:
    """Warn of a platform without machines: models would never find its constants."""
    from storage import inventory  # noqa: PLC0415

    with _store() as connection:
        known = {machine.platform for machine in inventory.machines(connection, enabled_only=False)}
    if platform not in known:
        typer.secho(
            f"Unknown platform {platform!r}: no machine of the inventory has it. List platforms: fleetprof machines list",
            err=True,
            fg="yellow",
        )


def _keep(figures: "Sequence[Calibration]") -> None:
    from services.views import calibrations as view  # noqa: PLC0415
    from storage import calibrations  # noqa: PLC0415

    with _store() as connection:
        before = calibrations.read(connection)
        for figure in figures:
            calibrations.record(connection, figure)
    for sentence in view.replaced(before, figures):
        typer.secho(sentence, err=True, fg="yellow")


@contextmanager
def _answered() -> Iterator[None]:
    """End the command with a sentence if the measurements yield no constant or an impossible one."""
    from analysis.errors import NotEstimable  # noqa: PLC0415

    try:
        yield
    except (NotEstimable, ValueError) as error:
        _end(str(error))


def _end(sentence: str) -> NoReturn:
    typer.secho(f"fleetprof: {sentence}", err=True, fg="red")
    raise typer.Exit(1)


@contextmanager
def _store() -> "Iterator[Connection]":
    """One transaction on the database."""
    from storage.database import open_engine  # noqa: PLC0415

    engine = open_engine(read_settings().needed_database_url(), application="calibrate", pool_size=1)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()
