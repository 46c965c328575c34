"""Where the machines of a simulated fleet are to be found."""

from pathlib import Path


def socket_of(folder: Path, machine: int) -> str:
    """The gRPC target of a machine whose sockets lie in `folder`."""
    return f"unix:{folder}/sim-{machine:05d}.sock"


def ready_mark(folder: Path, shard: int) -> Path:
    """File that is there while a process of the fleet serves."""
    return folder / f"shard-{shard}.ready"
