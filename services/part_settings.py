"""Which settings each process of one machine's stack is given: those it may read.

/proc/PID/environ is readable by all that runs as the same user, and what breaks into a part has what is there:
credentials are given to the part that uses them only.
"""

from collections.abc import Mapping
from typing import Final

from services.settings import Settings, variables

API: Final = "api"
WORKER: Final = "worker"
COLLECTOR: Final = "collector"

_READERS: Final[Mapping[str, frozenset[str]]] = {
    "api_tokens": frozenset({API}),
    "api_tls_cert": frozenset({API}),
    "api_tls_key": frozenset({API}),
    "data_listen": frozenset({API}),
    "data_client_ca": frozenset({API}),
    "gateway_ca": frozenset({COLLECTOR}),
    "gateway_cert": frozenset({COLLECTOR}),
    "gateway_key": frozenset({COLLECTOR}),
    "url": frozenset(),  # commands of a person read these three
    "token": frozenset(),
    "ca_passphrase": frozenset(),
}
"""Who reads a setting; every part of the server side may read the others."""

EVERY_VARIABLE: Final = frozenset[str]().union(*map(variables, Settings.model_fields))
"""Of all settings: gateways and simulated machines have options, and are given none."""


def withheld(part: str) -> frozenset[str]:
    """Variables, in capitals, that this part of the server side is not given."""
    return frozenset[str]().union(
        *(variables(name) for name, readers in _READERS.items() if part not in readers)
    )
