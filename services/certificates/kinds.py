"""Whom certificates are for, and what each kind may do."""

from enum import Enum
from typing import Final

from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier

ROLE_PREFIX: Final = "fleetprof:role:"
"""Of the URI that names the role; gateway/roles.py reads it."""


class Kind(Enum):
    """Whom a certificate is for; also the name of the folder it lies in."""

    GATEWAY = "gateway"
    COLLECTOR = "collector"
    VIEWER = "viewer"
    API = "api"
    DATA_VIEWER = "data-viewer"
    DATA_OPERATOR = "data-operator"

    @property
    def uri(self) -> str:
        """The role as it stands in the certificate."""
        return ROLE_PREFIX + self.value

    @property
    def is_server(self) -> bool:
        """It is reached by names of hosts; the others only call."""
        return self in {Kind.GATEWAY, Kind.API}

    @property
    def usage(self) -> ObjectIdentifier:
        """Servers cannot call and callers cannot serve: whoever has a node's key commands no other node."""
        return ExtendedKeyUsageOID.SERVER_AUTH if self.is_server else ExtendedKeyUsageOID.CLIENT_AUTH

    @property
    def authority(self) -> str:
        """Base name of the authority that signs it.

        The API has one of its own: people put it into browsers, and nothing it signs is taken for a gateway. So
        whatever serves under the fleet's authority is a gateway, and the collector needs no look at the role.
        Callers of the data API are signed by it too: to gateways they are strangers.
        """
        return "api-ca" if self in {Kind.API, Kind.DATA_VIEWER, Kind.DATA_OPERATOR} else "ca"


AUTHORITIES: Final = {"ca": "fleetprof fleet CA", "api-ca": "fleetprof API CA"}
"""Base name of the files, and the common name."""
