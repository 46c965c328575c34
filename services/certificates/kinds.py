"""Kinds of certificate holders and their permissions."""

from enum import Enum
from typing import Final

from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier

ROLE_PREFIX: Final = "fleetprof:role:"
"""Prefix of the URI that names the role; gateway/roles.py reads it."""


class Kind(Enum):
    """Kind of certificate holder; also the name of its certificates' folder."""

    GATEWAY = "gateway"
    COLLECTOR = "collector"
    VIEWER = "viewer"
    API = "api"
    DATA_VIEWER = "data-viewer"
    DATA_OPERATOR = "data-operator"

    @property
    def uri(self) -> str:
        """The role as written in the certificate."""
        return ROLE_PREFIX + self.value

    @property
    def is_server(self) -> bool:
        """Whether it is a server, reached by host names; the others only call."""
        return self in {Kind.GATEWAY, Kind.API}

    @property
    def usage(self) -> ObjectIdentifier:
        """Extended key usage. Servers cannot call and callers cannot serve: a node's key commands no other node."""
        return ExtendedKeyUsageOID.SERVER_AUTH if self.is_server else ExtendedKeyUsageOID.CLIENT_AUTH

    @property
    def authority(self) -> str:
        """Base name of the signing authority.

        The API has its own: users import it into browsers, and nothing it signs is accepted as a gateway. Every server
        under the fleet's authority is therefore a gateway, and the collector need not check the role. The API's
        authority also signs callers of the data API, so gateways reject them.
        """
        return "api-ca" if self in {Kind.API, Kind.DATA_VIEWER, Kind.DATA_OPERATOR} else "ca"


AUTHORITIES: Final = {"ca": "fleetprof fleet CA", "api-ca": "fleetprof API CA"}
"""Common name by base name of the files."""
