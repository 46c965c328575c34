"""`fleetprof health`: health checks of the processes."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.settings import read_settings

if TYPE_CHECKING:
    from services.observing.address import ObserveAddress

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
    metrics: Annotated[bool, typer.Option("--metrics", help="Print metrics instead.")] = False,
) -> None:
    """Check whether processes are ready; exit code 1 if one is not.

    For health checks of containers, `fleetprof health 127.0.0.1:9464`, and for people. The address of a collector or a worker
    is FLEETPROF_COLLECTOR_OBSERVE or FLEETPROF_WORKER_OBSERVE, that of a gateway is its --observe, and the API serves health
    checks at its own address. Certificates are not verified, as by kubelets: no secret is sent to an ADDRESS.
    """
    from http import HTTPStatus  # noqa: PLC0415 - a command imports what it runs

    from services.errors import NotRunning  # noqa: PLC0415
    from services.observing.address import asked_at  # noqa: PLC0415
    from services.observing.asking import ask  # noqa: PLC0415

    asked = {address: asked_at(address) for address in addresses} if addresses else _parts_of_up()
    route = "/metrics" if metrics else "/healthz" if live else "/readyz"
    well = True
    for name, address in asked.items():
        try:
            status, text = ask(
                address, route, headers=_own_headers() if not addresses and name == "api" else {}
            )
        except NotRunning as error:
            status, text = HTTPStatus.SERVICE_UNAVAILABLE, str(error)
        well = well and status == HTTPStatus.OK
        if metrics:
            typer.echo(f"# {name} {address}\n{text}" if len(asked) > 1 else text, nl=False)
        else:
            typer.echo(f"{name}: {text.strip()}")
    if not well:
        raise typer.Exit(1)


def _own_headers() -> dict[str, str]:
    """Headers of the owner of the state directory: the API sends metrics and reasons in /readyz only to viewers."""
    from services.api.auth import Access  # noqa: PLC0415
    from services.api.sessions import SESSION_HEADER, cookie_name  # noqa: PLC0415

    own = Access(read_settings().state_dir).own_session(_SECONDS_TO_ASK)
    return {"Cookie": f"{cookie_name(secure=False)}={own.cookie}", SESSION_HEADER: own.binding}


def _parts_of_up() -> "dict[str, ObserveAddress]":
    """Addresses of the parts of the `up` that runs here. Raises NotRunning."""
    from urllib.parse import urlsplit  # noqa: PLC0415

    from services.errors import NotRunning  # noqa: PLC0415
    from services.observing.address import ObserveAddress  # noqa: PLC0415
    from services.running import OBSERVED, none_runs, observed_at, running_stack  # noqa: PLC0415

    state_dir = read_settings().state_dir
    stack = running_stack(state_dir)
    if stack is None:
        raise NotRunning(
            f"{none_runs(state_dir)} Or give addresses, such as 127.0.0.1:9464 or unix:/run/fleetprof/observe.sock."
        )
    api = urlsplit(stack.api_url)
    found = {"api": ObserveAddress(host=api.hostname or "127.0.0.1", port=api.port or 0)}
    # A simulated fleet has no gateway of this machine.
    for part in OBSERVED:
        address = observed_at(state_dir, part)
        if address.path is not None and address.path.exists():
            found[part] = address
    return found
