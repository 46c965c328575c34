"""`fleetprof tokens`: API tokens in the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from services.configuration.settings import read_settings

if TYPE_CHECKING:
    from services.access.token_service import TokenService

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "API tokens for programs and for sign-in to the web UI.\n\nThe database has only their digests. Tokens of "
        "FLEETPROF_API_TOKENS are not among them. Administrators can do the same over the API (/api/v1/tokens)."
    ),
)


class TokenRole(StrEnum):
    """What the holder of a token may do."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the token.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


@app.command()
def create(
    name: Name,
    role: Annotated[TokenRole, typer.Option(help="What its holder may do.")] = TokenRole.VIEWER,
    days: Annotated[
        int | None, typer.Option(min=1, max=3650, help="Days until it expires. Default: it does not expire.")
    ] = None,
) -> None:
    """Create a token and print it. It is not shown again.

    Example: `fleetprof tokens create grafana --role viewer --days 365`
    """
    from services.api.tokens import Role  # noqa: PLC0415 - a command imports what it runs
    from services.command_line.own_user import own_user  # noqa: PLC0415

    with _service() as service:
        created = service.create(name, Role[role.upper()], days=days, created_by=own_user())
    typer.echo(created["token"])
    until = f", expires {created['expires_at'][:10]}" if created["expires_at"] else ""
    typer.echo(
        f"Created token {name}, role {role}{until}. API processes accept it after 2 s. It is not shown again.",
        err=True,
    )


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the tokens, without their texts."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    with _service() as service:
        found = service.listing()
    if as_json:
        import json  # noqa: PLC0415

        typer.echo(json.dumps(found, indent=2))
        return
    if not found["tokens"]:
        typer.echo("There are no API tokens. Create one: fleetprof tokens create NAME")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "role", "created", "by", "expires", "last used"):
        table.add_column(heading, overflow="fold")
    for token in found["tokens"]:
        table.add_row(
            token["name"],
            token["role"],
            token["created_at"][:10],
            token["created_by"],
            (token["expires_at"] or "never")[:10],
            token["last_used"] or "never",
        )
    Console(highlight=False).print(table)


@app.command()
def revoke(name: Name) -> None:
    """Revoke a token: API processes refuse it, and the sessions that it opened, within seconds."""
    with _service() as service:
        service.revoke(name)
    typer.echo(f"Revoked token {name}.")


@contextmanager
def _service() -> "Iterator[TokenService]":
    """The tokens of this deployment's database."""
    from services.access.token_service import TokenService  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415

    engine = open_engine(read_settings().needed_database_url(), application="tokens", pool_size=1)
    try:
        yield TokenService(engine)
    finally:
        engine.dispose()
