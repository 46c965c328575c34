"""`fleetprof experiments`: measured runs of programs that share a chip, for models of interference."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.configuration.settings import read_settings

if TYPE_CHECKING:
    from services.experiments.experiment_service import ExperimentService

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Measured runs of programs alone on a chip and beside others.\n\nReports of interference and "
        "placement can use them instead of the fleet's visits (`fleetprof report interference "
        "--experiments`); docs/models.md has an example file."
    ),
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the experiments.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


@app.command()
def add(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV in UTF-8: a heading, then one line per run.")
    ],
    name: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Name of the experiments; empty: the name of the file without its suffix."
        ),
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace experiments with the same name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Store a file of experiments: all of it or, if it contains an error, nothing.

    Columns: platform, target, beside, metric, value, mlines_per_s, gb_per_s and, if necessary, cores. A line with an empty
    `beside` is a run alone, with the target's time, CPI or IPC and its pressure. Every other line is a mix. Error messages
    name the line and the column.

    Example: `fleetprof experiments add lab-7.csv`
    """
    from rich.console import Console  # noqa: PLC0415 - a command imports what it runs

    from services.command_line.own_user import own_user  # noqa: PLC0415
    from services.views import experiments as view  # noqa: PLC0415

    try:
        content = file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(
            f"Cannot read {file}: {error.strerror or error}.", param_hint="FILE"
        ) from None
    with _service() as service:
        added = service.add(name or file.stem, content, added_by=own_user(), replace=replace)
    for platform in added["unknown_platforms"]:
        typer.secho(
            f"Unknown platform {platform!r}: no machine of the inventory has it. List platforms: fleetprof machines list",
            err=True,
            fg="yellow",
        )
    if as_json:
        _print_json(added)
        return
    Console(highlight=False).print(view.stored(added), soft_wrap=True)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List all experiments, the newest first."""
    from rich.console import Console  # noqa: PLC0415

    from services.views import experiments as view  # noqa: PLC0415

    with _service() as service:
        found = service.listing()
    if as_json:
        _print_json(found)
    elif found["experiments"]:
        Console(highlight=False).print(view.listing(found["experiments"]))
    else:
        typer.echo("There are no experiments. Add some: fleetprof experiments add FILE")


@app.command()
def show(
    name: Name,
    rows: Annotated[int, typer.Option(min=1, max=100_000, help="Runs to print.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show the runs of one file; --json prints all of them."""
    from rich.console import Console  # noqa: PLC0415

    from services.views import experiments as view  # noqa: PLC0415

    with _service() as service:
        found = service.show(name)
    if as_json:
        _print_json(found)
    else:
        Console(highlight=False).print(view.runs(found, rows))


@app.command()
def remove(name: Name) -> None:
    """Delete experiments. Models then use other experiments, or only visits."""
    with _service() as service:
        service.remove(name)
    typer.echo(f"Deleted experiments {name}.")


def _print_json(document: dict[str, object]) -> None:
    import json  # noqa: PLC0415

    typer.echo(json.dumps(document, allow_nan=False))


@contextmanager
def _service() -> "Iterator[ExperimentService]":
    """The experiments of this deployment's database."""
    from services.experiments.experiment_service import ExperimentService  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415

    engine = open_engine(read_settings().needed_database_url(), application="experiments", pool_size=1)
    try:
        yield ExperimentService(engine)
    finally:
        engine.dispose()
