"""`fleetprof url`: another login link, into the web UI of the `up` that runs here or of any API."""

from enum import StrEnum
from typing import Annotated

import typer

from services.configuration.settings import Settings, read_settings


class LinkRole(StrEnum):
    """Role of the session that a link opens."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


def url(
    api: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Address of the API, such as https://fleetprof.example; needs a token in FLEETPROF_TOKEN. Default: "
            "FLEETPROF_URL, else the `fleetprof up` that runs here.",
        ),
    ] = None,
    role: Annotated[
        LinkRole | None,
        typer.Option(help="Role of the session. Default: admin, or with --api the role of the token."),
    ] = None,
) -> None:
    """Print a new one-time link to the web UI of the `fleetprof up` that runs here, or of any API."""
    settings = read_settings()
    if where := api or settings.url:
        typer.echo(_remote(where, settings.token, role))
    else:
        typer.echo(_local(settings, role or LinkRole.ADMIN))


def _remote(where: str, token: str | None, role: LinkRole | None) -> str:
    import json  # noqa: PLC0415 - a command imports what it runs

    from services.client.json_api import JsonApi  # noqa: PLC0415

    body = json.dumps({"role": role}).encode()
    server = JsonApi(where, token, needs="an API token")
    link = server.ask("POST", "/login-links", body=body, headers={"Content-Type": "application/json"})
    return f"{where.rstrip('/')}{link['path']}"


def _local(settings: Settings, role: LinkRole) -> str:
    from services.api.login_links import mint_login_url  # noqa: PLC0415
    from services.api.signing import session_secret  # noqa: PLC0415
    from services.api.tokens import Role  # noqa: PLC0415
    from services.deployment.running_deployment import (  # noqa: PLC0415
        find_running_deployment,
        not_running_reason,
    )
    from services.errors import NotRunning  # noqa: PLC0415

    deployment = find_running_deployment(settings.state_dir)
    if deployment is None:
        raise NotRunning(
            f"{not_running_reason(settings.state_dir)} For a server elsewhere: fleetprof url --api URL"
        )
    secret = session_secret(settings.state_dir, settings.session_secret_file)
    return mint_login_url(secret, deployment.api_url, Role[role.upper()])
