"""`fleetprof experiments`: runs of programs that share a chip, which somebody measured, for models of interference."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.settings import read_settings

if TYPE_CHECKING:
    from services.experiments.desk import ExperimentDesk

app = typer.Typer(
    no_args_is_help=True,
    help="Runs of programs alone on a chip and beside others, as somebody measured them.\n\nReports of interference and placement can "
    "be trained by them instead of the fleet's visits (`fleetprof report interference --experiments`); docs/models.md shows a file.",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="What the experiments are called.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


@app.command()
def add(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV in UTF-8: a heading, then a line for each run.")
    ],
    name: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="What they are to be called; empty: as the file, without its ending."
        ),
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of experiments that have this name already.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Keep a file of experiments, whole or, where anything in it is wrong, not at all.

    Its columns are platform, target, beside, metric, value, mlines_per_s, gb_per_s and, if need be, cores. A line with nothing in
    `beside` is a run alone, which says the target's time, CPI or IPC and how it presses; every other one is a mix. What is wrong
    is told by line and column. `fleetprof experiments add lab-7.csv`
    """
    from rich.console import Console  # noqa: PLC0415 - a command imports what it runs

    from services.views import experiments as view  # noqa: PLC0415

    try:
        content = file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(
            f"{file} cannot be read: {error.strerror or error}.", param_hint="FILE"
        ) from None
    with _desk() as desk:
        added = desk.add(name or file.stem, content, added_by=_who(), replace=replace)
    for platform in added["unknown_platforms"]:
        typer.secho(
            f"No machine of the inventory has the platform {platform!r}; see: fleetprof machines list",
            err=True,
            fg="yellow",
        )
    if as_json:
        _print_json(added)
        return
    Console(highlight=False).print(view.kept(added), soft_wrap=True)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """Show all experiments that are kept, the newest first."""
    from rich.console import Console  # noqa: PLC0415

    from services.views import experiments as view  # noqa: PLC0415

    with _desk() as desk:
        found = desk.listing()
    if as_json:
        _print_json(found)
    elif found["experiments"]:
        Console(highlight=False).print(view.listing(found["experiments"]))
    else:
        typer.echo("No experiments are kept. Add some: fleetprof experiments add FILE")


@app.command()
def show(
    name: Name,
    rows: Annotated[int, typer.Option(min=1, max=100_000, help="Runs to print.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show one file's experiments, run by run; --json prints all of them."""
    from rich.console import Console  # noqa: PLC0415

    from services.views import experiments as view  # noqa: PLC0415

    with _desk() as desk:
        found = desk.show(name)
    if as_json:
        _print_json(found)
    else:
        Console(highlight=False).print(view.runs(found, rows))


@app.command()
def remove(name: Name) -> None:
    """Forget experiments; models then are trained by others, or by visits only."""
    with _desk() as desk:
        desk.remove(name)
    typer.echo(f"{name} is removed.")


def _who() -> str:
    import getpass  # noqa: PLC0415
    import platform  # noqa: PLC0415

    try:
        return f"{getpass.getuser()}@{platform.node()}"
    except (KeyError, OSError):  # a user id without an account
        return platform.node()


def _print_json(document: dict[str, object]) -> None:
    import json  # noqa: PLC0415

    typer.echo(json.dumps(document, allow_nan=False))


@contextmanager
def _desk() -> "Iterator[ExperimentDesk]":
    """The experiments of this installation's database."""
    from services.experiments.desk import ExperimentDesk  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415

    engine = open_engine(read_settings().needed_database_url(), application="experiments", pool_size=1)
    try:
        yield ExperimentDesk(engine)
    finally:
        engine.dispose()
