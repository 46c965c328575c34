"""A client of the data API for Python programs: `connect(url, token=…)` (docs/data-api.md).

It needs grpcio, protobuf and numpy. Only methods that use pandas, pyarrow or zstandard need these.
"""

from services.client.connection import Client, connect
from services.client.errors import Broken, ClientError, Closed, NeedsPackage, Refused
from services.client.visit import Visit

__all__ = ["Broken", "Client", "ClientError", "Closed", "NeedsPackage", "Refused", "Visit", "connect"]
