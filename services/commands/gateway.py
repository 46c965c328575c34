"""`fleetprof gateway`: the agent of a node; nodes with only the gateway run `fleetprof-gateway`."""

import sys

import typer


def gateway(ctx: typer.Context) -> None:
    """Run the gateway of this machine (the same as `fleetprof-gateway`; --help shows its options)."""
    from gateway.daemon import main  # noqa: PLC0415 - it reads sys.argv and takes over the process

    sys.argv = ["fleetprof gateway", *ctx.args]
    sys.exit(main())
