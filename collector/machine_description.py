"""Descriptions of machines, from their gateways (DIGEST G1)."""

from datetime import datetime, timedelta

import grpc

from collector.channel import Credentials, open_channel, why_no_tls
from collector.errors import NoAnswer
from collector.outcome import one_line
from fleetpb import capture_pb2, gateway_pb2, gateway_pb2_grpc
from storage.inventory import Machine

PATIENCE_S = 5.0
STALE_AFTER = timedelta(hours=24)
"""Firmware, memory and events change rarely; a new kernel is noticed at the next visit."""


async def describe(
    address: str, credentials: Credentials | None = None, *, patience_s: float = PATIENCE_S
) -> capture_pb2.Machine:
    """The gateway's description of its machine.

    Raises `NoAnswer`, `BadAddress`, `BadCredentials`.
    """
    async with open_channel(address, credentials) as channel:
        stub = gateway_pb2_grpc.GatewayStub(channel)
        try:
            message = await stub.Describe(gateway_pb2.DescribeRequest(), timeout=patience_s)
        except grpc.aio.AioRpcError as error:
            meaning = why_no_tls(error.details() or "")
            raise NoAnswer(
                f"{meaning} {error.code().name}: {one_line(error.details() or 'no details')}".strip()
            ) from error
    # grpc.aio returns None for bytes that it cannot parse; a valid description has at least a host name.
    if not isinstance(message, capture_pb2.Machine) or not message.hostname:
        raise NoAnswer("The gateway's response is not a description of a machine.")
    return message


def is_stale(machine: Machine, now: datetime) -> bool:
    """Whether the description is missing or a day old."""
    return machine.described_at is None or now - machine.described_at >= STALE_AFTER


def has_changed(machine: Machine, seen: capture_pb2.Machine | None) -> bool:
    """Whether a capture has another kernel or platform than the inventory.

    An empty field of the capture is ignored.
    """
    if seen is None:
        return False
    pairs = ((machine.kernel, seen.kernel_release), (machine.platform, seen.platform))
    return any(now and now[:256] != before for before, now in pairs)
