"""`fleetprof health`: how the processes are, by their probes."""

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
            help="HOST:PORT, https://HOST:PORT or unix:/PATH that processes answer probes at. None: the parts of the `up` running here.",
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Ask only whether they live, not whether they can work.")
    ] = False,
    metrics: Annotated[bool, typer.Option("--metrics", help="Print their metrics instead.")] = False,
) -> None:
    """Ask processes whether they are ready; exit code 1 if one is not.

    For probes of containers, `fleetprof health 127.0.0.1:9464`, and for people. A collector and a worker answer where
    FLEETPROF_COLLECTOR_OBSERVE and FLEETPROF_WORKER_OBSERVE say, a gateway where --observe does, the API at its own
    address. Certificates are not verified, as kubelets do not: no ADDRESS is sent anything secret.
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
    """Of the user whose state directory it is: the API tells others neither its metrics nor why it is not ready."""
    from services.api.auth import Access  # noqa: PLC0415
    from services.api.sessions import SESSION_HEADER, cookie_name  # noqa: PLC0415

    own = Access(read_settings().state_dir).own_session(_SECONDS_TO_ASK)
    return {"Cookie": f"{cookie_name(secure=False)}={own.cookie}", SESSION_HEADER: own.binding}


def _parts_of_up() -> "dict[str, ObserveAddress]":
    """Where the parts of the `up` running here answer. Raises NotRunning."""
    from urllib.parse import urlsplit  # noqa: PLC0415

    from services.errors import NotRunning  # noqa: PLC0415
    from services.observing.address import ObserveAddress  # noqa: PLC0415
    from services.running import OBSERVED, none_runs, observed_at, running_stack  # noqa: PLC0415

    state_dir = read_settings().state_dir
    stack = running_stack(state_dir)
    if stack is None:
        raise NotRunning(
            f"{none_runs(state_dir)} Or name addresses, such as 127.0.0.1:9464 or unix:/run/fleetprof/observe.sock."
        )
    api = urlsplit(stack.api_url)
    found = {"api": ObserveAddress(host=api.hostname or "127.0.0.1", port=api.port or 0)}
    # A simulated fleet has no gateway of this machine.
    for part in OBSERVED:
        address = observed_at(state_dir, part)
        if address.path is not None and address.path.exists():
            found[part] = address
    return found
