"""`fleetprof url`: another link into the web UI of the `up` that runs here."""

import typer

from services.errors import NotRunning
from services.running import none_runs, running_stack
from services.settings import read_settings


def url() -> None:
    """Print a new one-time link to the web UI of the `fleetprof up` that runs here."""
    from services.api.auth import mint_login_url  # noqa: PLC0415 - a command imports what it runs

    settings = read_settings()
    stack = running_stack(settings.state_dir)
    if stack is None:
        raise NotRunning(none_runs(settings.state_dir))
    typer.echo(mint_login_url(settings.state_dir, stack.api_url))
