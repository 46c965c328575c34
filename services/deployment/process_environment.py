"""The environment variables that each process of a deployment receives: only those it may read.

Every process of the same user can read /proc/PID/environ, and an attacker inside a part has its variables. Each
credential is therefore passed only to the part that uses it.
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
    "session_secret_file": frozenset({API}),
    "data_listen": frozenset({API}),
    "data_client_ca": frozenset({API}),
    "gateway_ca": frozenset({COLLECTOR}),
    "gateway_cert": frozenset({COLLECTOR}),
    "gateway_key": frozenset({COLLECTOR}),
    "url": frozenset(),  # a user's commands read these three
    "token": frozenset(),
    "ca_passphrase": frozenset(),
}
"""Parts that read a setting. Every server-side part may read the settings that are not listed."""

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
    """Whether gateways and simulated machines inherit the variable: only those of the interpreter and its libraries.

    They have options in place of settings and use no store; a shell's AWS_SECRET_ACCESS_KEY or PGPASSWORD is withheld.
    """
    return variable in _OF_A_GATEWAY or variable.startswith(_OF_A_GATEWAY_BEGIN)


def withheld(part: str) -> frozenset[str]:
    """Variables, in capitals, that this server-side part does not receive."""
    return frozenset[str]().union(
        *(variables(name) for name, readers in _READERS.items() if part not in readers)
    )
