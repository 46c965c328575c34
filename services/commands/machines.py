"""`fleetprof machines`: the inventory of machines to visit."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from services.configuration.settings import read_settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "The inventory of machines to visit.\n\nA machine has a name of your choice and the address of its "
        "gateway, which reports CPU model, kernel and cores."
    ),
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the machine in the inventory.")]


@app.command()
def add(  # noqa: PLR0917 - the command line is its signature
    name: Annotated[str, typer.Argument(help="Name of the machine, usually its host name.")],
    address: Annotated[
        str, typer.Argument(help="Address of its gateway: host:port (with mutual TLS) or unix:/path.")
    ],
    datacenter: Annotated[
        str, typer.Option(help="Datacenter. Machines are drawn at random within a datacenter and CPU model.")
    ] = "",
    cluster: Annotated[str, typer.Option(help="Cluster.")] = "",
    label: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Label for selections; repeatable.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing entry.")] = False,
) -> None:
    """Add a machine. The collector reads its description within half a minute."""
    from collector.inventory_file import new_machine  # noqa: PLC0415 - a command imports what it runs
    from storage import inventory  # noqa: PLC0415

    machine = new_machine(
        {
            "name": name,
            "address": address,
            "datacenter": datacenter,
            "cluster": cluster,
            "labels": dict(_label(text) for text in label or []),
        }
    )
    with _store() as connection:
        inventory.add(connection, machine, replace=replace)
    typer.echo(f"{machine.name} is in the inventory. Test it: fleetprof visit {machine.name} --for 5s")


@app.command("import")
def import_(
    file: Annotated[
        typer.FileText,
        typer.Argument(help="CSV with a header line, or JSON objects; - is standard input."),
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Replace existing entries.")] = False,
) -> None:
    """Add the machines of a file, all or none.

    CSV columns: name, address, datacenter, cluster; any other column becomes a label. JSON: objects
    with these fields and "labels". For example:

        name,address,datacenter,rack
        web-1,web-1.example:7071,fra,r12
    """
    from collector.inventory_file import read_inventory  # noqa: PLC0415
    from storage import inventory  # noqa: PLC0415

    try:
        text = file.read()
    except UnicodeDecodeError as error:
        raise typer.BadParameter(
            f"{file.name} is not UTF-8 text (byte {error.start}): convert it."
        ) from error
    machines = read_inventory(text)
    with _store() as connection:
        for machine in machines:
            inventory.add(connection, machine, replace=replace)
    count = len(machines)
    typer.echo(f"{count:,} {'machine is' if count == 1 else 'machines are'} in the inventory.")


@app.command("list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one array of objects.")] = False,
) -> None:
    """List all machines with the descriptions from their gateways."""
    from storage import inventory  # noqa: PLC0415

    with _store() as connection:
        machines = inventory.machines(connection, enabled_only=False)
    if as_json:
        import json  # noqa: PLC0415
        from dataclasses import asdict  # noqa: PLC0415

        typer.echo(json.dumps([asdict(machine) for machine in machines], default=str, indent=2))
        return
    if not machines:
        typer.echo("The inventory is empty. Add a machine: fleetprof machines add NAME ADDRESS")
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "address", "datacenter", "cluster", "platform", "kernel", "CPUs", ""):
        table.add_column(heading, justify="right" if heading == "CPUs" else "left", overflow="fold")
    for machine in machines:
        table.add_row(
            machine.name,
            machine.address,
            machine.datacenter,
            machine.cluster,
            machine.platform or "not described yet",
            machine.kernel,
            str(machine.logical_cpus or ""),
            "" if machine.enabled else "disabled",
        )
    Console(highlight=False).print(table)


@app.command()
def remove(name: Name) -> None:
    """Remove a machine from the inventory; its profiles are kept."""
    from storage import inventory  # noqa: PLC0415

    with _store() as connection:
        inventory.remove(connection, name)
    typer.echo(f"{name} is removed; its profiles are kept. Undo: fleetprof machines add")


@app.command()
def disable(name: Name) -> None:
    """Stop drawing a machine until it is enabled again; `fleetprof visit` still visits it."""
    _enable(name, enabled=False)
    typer.echo(f"{name} is disabled. Undo: fleetprof machines enable {name}")


@app.command()
def enable(name: Name) -> None:
    """Draw a disabled machine again."""
    _enable(name, enabled=True)
    typer.echo(f"{name} is enabled from the next round on.")


def _enable(name: str, *, enabled: bool) -> None:
    from storage import inventory  # noqa: PLC0415

    with _store() as connection:
        inventory.set_enabled(connection, name, enabled)


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise typer.BadParameter(f"Invalid label {text!r}: expected KEY=VALUE, e.g. rack=r12.")
    return key, value


@contextmanager
def _store() -> "Iterator[Connection]":
    """One transaction on the database."""
    from storage.database import open_engine  # noqa: PLC0415

    engine = open_engine(read_settings().needed_database_url(), application="machines", pool_size=1)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()
