"""Paths of the sockets of a simulated fleet."""

from pathlib import Path


def socket_of(folder: Path, machine: int) -> str:
    """The gRPC target of a machine with its socket in `folder`."""
    return f"unix:{folder}/sim-{machine:05d}.sock"


def ready_mark(folder: Path, shard: int) -> Path:
    """File that exists while a process of the fleet serves."""
    return folder / f"shard-{shard}.ready"
