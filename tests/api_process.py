"""The API as a process of its own, as `fleetprof api` serves it."""

import http.client
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

DEADLINE_S = 30
_PROGRAM = """
import sys
from pathlib import Path
from services.api.serve import Listen, SymbolStore, serve
from services.errors import ServiceError

host, port, cert, database_url, state_dir, *tokens = sys.argv[1:]
pem = Path(cert) if cert else None
try:
    symbols = SymbolStore(archive_url=f"{state_dir}/archive", largest_bytes=1 << 20, redis_url=None)
    listen = Listen(host, int(port), pem, pem)
    serve(listen, database_url=database_url, state_dir=Path(state_dir), stack_files=Path(state_dir) / "stacks", tokens=tokens, symbols=symbols)
except ServiceError as error:
    sys.exit(str(error))
"""


def answers(
    connect: Callable[[], http.client.HTTPConnection],
    path: str = "/readyz",
    headers: Mapping[str, str] | None = None,
) -> int:
    connection = connect()
    try:
        connection.request("GET", path, headers=headers or {})
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
