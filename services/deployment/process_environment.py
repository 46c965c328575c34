"""Which variables each process of one machine's deployment is given: those it may read.

/proc/PID/environ is readable by all that runs as the same user, and what breaks into a part has what is there:
credentials are given to the part that uses them only.
"""

from collections.abc import Mapping
from typing import Final

from services.configuration.settings import variables

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

_OF_A_GATEWAY: Final = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL",
        "LANG", "LANGUAGE", "TZ", "TMPDIR",
        "SSL_CERT_FILE", "SSL_CERT_DIR",
        "VIRTUAL_ENV", "LD_LIBRARY_PATH",
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
    }
)  # fmt: skip
_OF_A_GATEWAY_BEGIN: Final = ("LC_", "XDG_", "PYTHON", "GRPC_", "COVERAGE_")


def reaches_gateways(variable: str) -> bool:
    """Whether gateways and simulated machines inherit it: what an interpreter and its libraries read alone.

    They have options instead of settings, and use no store: a shell's AWS_SECRET_ACCESS_KEY or PGPASSWORD is none of theirs.
    """
    return variable in _OF_A_GATEWAY or variable.startswith(_OF_A_GATEWAY_BEGIN)


def withheld(part: str) -> frozenset[str]:
    """Variables, in capitals, that this part of the server side is not given."""
    return frozenset[str]().union(
        *(variables(name) for name, readers in _READERS.items() if part not in readers)
    )
