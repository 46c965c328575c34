"""`fleetprof doctor`: what is missing here, its cost, and its fix."""

from enum import Enum
from typing import Annotated

import typer

from services.configuration.settings import read_settings


class Part(Enum):
    """Part to examine."""

    ALL = "all"
    GATEWAY = "gateway"
    SERVER = "server"


def doctor(
    part: Annotated[
        Part,
        typer.Argument(
            help=(
                "gateway: conditions that hide data from a gateway on this machine; server: database, broker, archive, symbol "
                "folders, certificates, debuginfod, clocks, disks."
            )
        ),
    ] = Part.ALL,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Print the problems of this machine, the effect of each, and the command that fixes it.

    Run it as the same user and with the same settings as the process in question, because a gateway's capabilities are those of
    its own process. On a node with only the gateway, run `fleetprof-gateway --doctor`. The exit code is 1 if a finding is bad.
    """
    from gateway.doctor import findings  # noqa: PLC0415 - a command imports what it runs
    from gateway.doctor.node_checks import check_node  # noqa: PLC0415
    from services.diagnostics.server_checks import examine_server  # noqa: PLC0415

    found = []
    if part is not Part.SERVER:
        found += check_node()
    if part is not Part.GATEWAY:
        found += examine_server(read_settings())
    typer.echo(findings.as_json(found) if as_json else findings.as_text(found))
    raise typer.Exit(findings.exit_status(found))
