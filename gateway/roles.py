"""Roles of callers, from their certificates (DIGEST G7).

A role is an URI among the certificate's alternative names, `fleetprof:role:collector`; `fleetprof certs` adds it. A
certificate without a role, or a gateway's own, permits nothing.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PREFIX: Final = "fleetprof:role:"


class Role(Enum):
    """Role of a caller."""

    COLLECTOR = "collector"
    """Takes captures, requests symbols, calibrates machines."""
    VIEWER = "viewer"
    """Requests the machine's description and health."""


_PERMITTED: Final = {
    Role.COLLECTOR: frozenset({"Capture", "Describe", "Symbols", "Calibrate", "Health"}),
    Role.VIEWER: frozenset({"Describe", "Health"}),
}


def permits(roles: Iterable[Role], method: str) -> bool:
    """Whether one of the roles may call this method of the Gateway service. No role permits an unknown method."""
    return any(method in _PERMITTED[role] for role in roles)


def parse_caller(text: str) -> tuple[str, Role]:
    """Parse `NAME` or `NAME=ROLE`, by default a collector; raises ValueError.

    The name may contain an equals sign, so only a role's name after the last one counts.
    """
    name, equals, role = text.rpartition("=")
    if equals and role in {each.value for each in Role}:
        text, chosen = name, Role(role)
    else:
        chosen = Role.COLLECTOR
    if not text or not text.isprintable() or text != text.strip():
        raise ValueError(f"{text!r} is not a name of a certificate")
    return text, chosen


def roles_of(
    names: Sequence[str], uris: Sequence[str], allowed: Sequence[tuple[str, Role]]
) -> frozenset[Role]:
    """The roles of a caller, by the names and URIs of its certificate.

    If the operator lists callers, only the list counts: an authority that does not know our roles might let a client
    choose its URI.
    """
    if allowed:
        return frozenset(role for name, role in allowed if name in names or name in uris)
    stated = {uri.removeprefix(_PREFIX) for uri in uris if uri.startswith(_PREFIX)}
    return frozenset(role for role in Role if role.value in stated)
