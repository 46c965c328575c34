"""`fleetprof health`: health checks of the processes."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.configuration.settings import read_settings

if TYPE_CHECKING:
    from services.monitoring.metrics_address import MetricsAddress

_SECONDS_TO_ASK = 60


def health(
    addresses: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ADDRESS",
            help=(
                "Address of health checks: HOST:PORT, https://HOST:PORT or unix:/PATH. Default: all parts of the "
                "`up` that runs here."
            ),
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Check /healthz (alive) instead of /readyz (ready).")
    ] = False,
    metrics: Annotated[bool, typer.Option("--metrics", help="Print metrics instead of health.")] = False,
) -> None:
    """Check whether processes are ready; exit code 1 if one is not.

    It also serves as the health check of a container: `fleetprof health 127.0.0.1:9464`. The address of a collector is
    FLEETPROF_COLLECTOR_METRICS_LISTEN, that of a worker is FLEETPROF_WORKER_METRICS_LISTEN, and that of a gateway is its
    --metrics-listen. The API serves health checks at its own address. Like a kubelet, the command does not verify
    certificates; it sends no secret to an ADDRESS.
    """
    from http import HTTPStatus  # noqa: PLC0415 - a command imports what it runs

    from services.errors import NotRunning  # noqa: PLC0415
    from services.monitoring.metrics_address import probe_address  # noqa: PLC0415
    from services.monitoring.probe_client import probe  # noqa: PLC0415

    addresses_by_name = (
        {address: probe_address(address) for address in addresses} if addresses else _parts_of_up()
    )
    route = "/metrics" if metrics else "/healthz" if live else "/readyz"
    well = True
    for name, address in addresses_by_name.items():
        try:
            status, text = probe(
                address, route, headers=_own_headers() if not addresses and name == "api" else {}
            )
        except NotRunning as error:
            status, text = HTTPStatus.SERVICE_UNAVAILABLE, str(error)
        well = well and status == HTTPStatus.OK
        if metrics:
            typer.echo(f"# {name} {address}\n{text}" if len(addresses_by_name) > 1 else text, nl=False)
        else:
            typer.echo(f"{name}: {text.strip()}")
    if not well:
        raise typer.Exit(1)


def _own_headers() -> dict[str, str]:
    """Headers of the owner of the state directory: the API sends metrics and reasons in /readyz only to viewers."""
    from services.api.sessions import SESSION_HEADER, cookie_name, new_session  # noqa: PLC0415
    from services.api.signing import session_secret  # noqa: PLC0415
    from services.api.tokens import Role  # noqa: PLC0415

    settings = read_settings()
    secret = session_secret(settings.state_dir, settings.session_secret_file)
    own = new_session(secret, Role.VIEWER.word, longest_s=_SECONDS_TO_ASK)
    return {"Cookie": f"{cookie_name(secure=False)}={own.cookie}", SESSION_HEADER: own.binding}


def _parts_of_up() -> "dict[str, MetricsAddress]":
    """Addresses of the parts of the `up` that runs here. Raises NotRunning."""
    from urllib.parse import urlsplit  # noqa: PLC0415

    from services.deployment.running_deployment import (  # noqa: PLC0415
        PARTS_WITH_METRICS,
        find_running_deployment,
        metrics_address,
        not_running_reason,
    )
    from services.errors import NotRunning  # noqa: PLC0415
    from services.monitoring.metrics_address import MetricsAddress  # noqa: PLC0415

    state_dir = read_settings().state_dir
    deployment = find_running_deployment(state_dir)
    if deployment is None:
        raise NotRunning(
            f"{not_running_reason(state_dir)} Or give addresses, such as 127.0.0.1:9464 or unix:/run/fleetprof/metrics.sock."
        )
    api = urlsplit(deployment.api_url)
    found = {"api": MetricsAddress(host=api.hostname or "127.0.0.1", port=api.port or 0)}
    # A simulated fleet has no gateway of this machine.
    for part in PARTS_WITH_METRICS:
        address = metrics_address(state_dir, part)
        if address.path is not None and address.path.exists():
            found[part] = address
    return found
