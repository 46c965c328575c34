"""A client of the data API for Python programs: `connect(url, token=…)` (docs/data-api.md).

Needs grpcio, protobuf and numpy; pandas, pyarrow and zstandard only for what returns or unpacks theirs.
"""

from services.client.connection import Client, connect
from services.client.errors import Broken, ClientError, Closed, NeedsPackage, Refused
from services.client.visit import Visit

__all__ = ["Broken", "Client", "ClientError", "Closed", "NeedsPackage", "Refused", "Visit", "connect"]
