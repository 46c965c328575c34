"""`fleetprof`: one program for every process and every query."""

import sys
from importlib import metadata

import typer

from gateway.serving.grpc_environment import set_grpc_environment
from services.commands import (
    api,
    calibrate,
    callers,
    campaigns,
    captures,
    certs,
    collector,
    db,
    deploys,
    doctor,
    experiments,
    export,
    gateway,
    health,
    lake,
    lines,
    machines,
    query,
    record,
    regressions,
    report,
    series,
    shared_code,
    simulate,
    status,
    symbols,
    tokens,
    up,
    url,
    visit,
    worker,
)
from services.errors import ServiceError

app = typer.Typer(
    name="fleetprof",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Sampling profiler for a whole fleet: where its CPU cycles go.\n\nStart with `fleetprof up`: it "
        "profiles this machine and prints a URL."
    ),
)

app.command("up", rich_help_panel="On this machine")(up.up)
app.command("url", rich_help_panel="On this machine")(url.url)
app.command("record", rich_help_panel="On this machine")(record.record)
app.command("doctor", rich_help_panel="On this machine")(doctor.doctor)
app.command("health", rich_help_panel="On this machine")(health.health)
app.command("query", rich_help_panel="Query")(query.query)
app.command("callers", rich_help_panel="Query")(callers.callers)
app.command("lines", rich_help_panel="Query")(lines.lines)
app.command("series", rich_help_panel="Query")(series.series)
app.add_typer(report.app, name="report", rich_help_panel="Query")
app.command("shared-code", rich_help_panel="Query")(shared_code.shared_code)
app.command("export", rich_help_panel="Query")(export.export)
app.command("status", rich_help_panel="Query")(status.status)
app.command("visit", rich_help_panel="Query")(visit.visit)
app.add_typer(symbols.app, name="symbols", rich_help_panel="Query")
app.add_typer(machines.app, name="machines", rich_help_panel="The fleet")
app.add_typer(campaigns.app, name="campaigns", rich_help_panel="The fleet")
app.add_typer(calibrate.app, name="calibrate", rich_help_panel="The fleet")
app.add_typer(experiments.app, name="experiments", rich_help_panel="The fleet")
app.add_typer(deploys.app, name="deploys", rich_help_panel="The fleet")
app.add_typer(regressions.app, name="regressions", rich_help_panel="The fleet")
app.add_typer(captures.app, name="captures", rich_help_panel="The fleet")
app.add_typer(certs.app, name="certs", rich_help_panel="The fleet")
app.add_typer(tokens.app, name="tokens", rich_help_panel="The fleet")
app.command("simulate", rich_help_panel="The fleet")(simulate.simulate)
app.command("collector", rich_help_panel="Processes")(collector.collector)
app.command("worker", rich_help_panel="Processes")(worker.worker)
app.command("api", rich_help_panel="Processes")(api.api)
app.command(
    "gateway",
    rich_help_panel="Processes",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)(gateway.gateway)
app.add_typer(db.app, name="db", rich_help_panel="Processes")
app.add_typer(lake.app, name="lake", rich_help_panel="Processes")


@app.callback(invoke_without_command=True)
def _version(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        typer.echo(f"fleetprof {metadata.version('fleetprof')}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit(2)


def main() -> None:
    """Run a command; print expected errors as one sentence and exit with 1."""
    set_grpc_environment()
    try:
        app()
    except _expected_errors() as error:
        typer.secho(f"fleetprof: {error}", err=True, fg="red")
        if hint := getattr(error, "hint", ""):
            typer.echo(hint, err=True)
        sys.exit(1)


def _expected_errors() -> tuple[type[Exception], ...]:
    from collector.errors import CollectorError  # noqa: PLC0415 - only when a command has failed
    from storage.errors import StorageError  # noqa: PLC0415
    from symbolizer.errors import SymbolizerError  # noqa: PLC0415

    return (ServiceError, CollectorError, StorageError, SymbolizerError)
