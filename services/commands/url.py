"""`fleetprof url`: another link into the web UI of the `up` that runs here."""

import typer

from services.configuration.settings import read_settings
from services.deployment.running_deployment import find_running_deployment, not_running_reason
from services.errors import NotRunning


def url() -> None:
    """Print a new one-time link to the web UI of the `fleetprof up` that runs here."""
    from services.api.auth import mint_login_url  # noqa: PLC0415 - a command imports what it runs

    settings = read_settings()
    deployment = find_running_deployment(settings.state_dir)
    if deployment is None:
        raise NotRunning(not_running_reason(settings.state_dir))
    typer.echo(mint_login_url(settings.state_dir, deployment.api_url))
