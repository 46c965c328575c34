"""Runs the API server: checks its address, listens, and shuts down."""

import asyncio
import os
import signal
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from ipaddress import ip_address
from pathlib import Path

import structlog
import uvicorn
from sqlalchemy import QueuePool

from services.api.access_records import DatabaseRecords, RecordCopy
from services.api.app import CONCURRENT_QUERIES, create_app
from services.api.auth import Access
from services.api.connection_limits import BACKLOG, Connections, LimitedListener, ServingLoop, max_connections
from services.api.connections import CuttableConnection
from services.api.response_cache import ResponseCache
from services.api.signing import session_secret
from services.api.symbols import CONCURRENT_INSPECTIONS, CONCURRENT_SOURCES
from services.api.tokens import parse_tokens
from services.certificates.served_pair import ServedPair, check_pair
from services.data_api.grpc_server import DataListen, check_data_exposure
from services.data_api.lifecycle import EndingStreams, open_stream_service, serve_streams
from services.disassembly.binary_files import BinaryFiles, disassembler_of
from services.disassembly.service import DisassemblyService
from services.errors import CannotStart, SettingsProblem
from services.experiments.experiment_service import ExperimentService
from services.fleet.fleet_service import FleetService
from services.symbols.symbol_service import SymbolService
from storage.archive import Archive
from storage.database import open_engine
from storage.query.query_engine import OlderDays, QueryEngine
from storage.query.stacks.files import StackFiles
from storage.snapshots.decoded_cache import DEFAULT_BYTES
from storage.snapshots.query_budget import Limits
from storage.symbols.sources import MAX_SOURCE_BYTES
from symbolizer.source_text.roots import SourceRoot
from symbolizer.source_text.text import FetchLimits, SourceTexts
from symbolizer.sources.debuginfod_client import DownloadLimits, clients

_UNIX = "unix:"
_SECONDS_TO_FINISH = 10
SOURCE_DOWNLOADS = DownloadLimits(bytes=MAX_SOURCE_BYTES, seconds=20.0)
"""A user waits for the text in front of a page."""
_SECONDS_BETWEEN_QUESTIONS = 75
"""A page polls every few seconds, and its connection should stay open meanwhile."""


@dataclass(frozen=True, slots=True)
class Listen:
    """Where to listen: `unix:/path`, or an address and a port (0: a free one)."""

    host: str = "127.0.0.1"
    port: int = 7070
    tls_cert: Path | None = None
    tls_key: Path | None = None
    connections: int = 1024
    """At the same time."""
    connections_per_address: int = 128
    """Of `connections`, per remote address. Clients on this machine have no further limit."""

    @property
    def secure(self) -> bool:
        """Whether the listener uses TLS."""
        return self.tls_cert is not None and self.tls_key is not None


@dataclass(frozen=True, slots=True)
class SymbolStore:
    """Settings of the symbol repository."""

    archive_url: str
    largest_bytes: int
    redis_url: str | None
    """Broker over which workers are notified of uploads; None: the collector's periodic sweep does it later."""
    debuginfod_urls: Sequence[str] = ()
    source_roots: Sequence[str] = ()
    """`FROM=TO`, as in the setting."""
    inspections: int = CONCURRENT_INSPECTIONS
    """Uploads that are inspected at a time."""
    fetches: FetchLimits = field(default_factory=FetchLimits)
    """Limits on fetching sources."""
    binaries: BinaryFiles | None = None
    """Places with binaries, for their instructions; None: none is read."""


def check_exposure(listen: Listen, tokens: Sequence[str]) -> None:
    """Check the address. Raises SettingsProblem.

    An address that other machines can reach needs TLS and tokens; the TLS files must be a pair.
    """
    if (listen.tls_cert is None) != (listen.tls_key is None):
        raise SettingsProblem("Set both FLEETPROF_API_TLS_CERT and FLEETPROF_API_TLS_KEY, or none of them.")
    for path in (listen.tls_cert, listen.tls_key):
        if path is not None and not os.access(path, os.R_OK):
            raise SettingsProblem(f"Cannot read {path}, a file for the API's TLS.")
    if listen.tls_cert is not None and listen.tls_key is not None:
        check_pair(listen.tls_cert, listen.tls_key)
    if _is_private(listen.host):
        return
    missing = []
    if not listen.secure:
        missing.append("FLEETPROF_API_TLS_CERT and FLEETPROF_API_TLS_KEY")
    if not tokens:
        missing.append("FLEETPROF_API_TOKENS (for example viewer:$(openssl rand -hex 24))")
    if missing:
        raise SettingsProblem(
            f"Other machines can reach the API at {listen.host}: set {' and '.join(missing)}, or "
            "FLEETPROF_API_HOST=127.0.0.1."
        )


def serve(
    listen: Listen,
    *,
    database_url: str,
    state_dir: Path,
    stack_files: Path,
    tokens: Sequence[str] = (),
    session_secret_file: Path | None = None,
    link_command: str | None = None,
    allowed_hosts: Sequence[str] = (),
    price_per_core_hour: float | None = None,
    limits: Limits | None = None,
    decoded_bytes: int = DEFAULT_BYTES,
    older: Callable[[], OlderDays] | None = None,
    cache: ResponseCache | None = None,
    symbols: SymbolStore,
    data: DataListen | None = None,
) -> None:
    """Answer requests until SIGTERM or SIGINT, then finish those in progress.

    `stack_files`: the folder with this machine's files of stacks and names. `limits` bound each query. `decoded_bytes`
    limits the cache of decoded cells and chunks. `older` is passed to `QueryEngine`. `cache` is the response cache.
    `tokens` are `role:token`. `session_secret_file` has the secret that all replicas share; None: that of the state
    directory. `link_command` prints a login link on this machine; None: a token is needed for one. `data`: where to stream data by gRPC; None: by HTTP only. Raises SettingsProblem before
    anything is opened, and CannotStart if the address is taken.
    """
    check_exposure(listen, tokens)
    if data is not None:
        check_data_exposure(data, tokens)
    known_tokens, secret = parse_tokens(tokens), session_secret(state_dir, session_secret_file)
    names = [*allowed_hosts]
    if not listen.host.startswith(_UNIX) and not _is_any(listen.host):
        names.append(f"[{listen.host}]" if ":" in listen.host else listen.host)
    connections = Connections(max_connections(listen.connections), listen.connections_per_address)
    bound = LimitedListener.of(_bind(listen), connections)
    # One connection for each running query and each source lookup, one for probes, one for records of sign-in, the
    # others for uploads, tokens and views.
    engine = open_engine(
        database_url, application="api", pool_size=CONCURRENT_QUERIES + CONCURRENT_SOURCES + 8
    )
    access = Access(secret, RecordCopy(DatabaseRecords(engine)), known_tokens, link_command=link_command)
    queries = QueryEngine(
        engine, limits=limits, files=StackFiles(stack_files), cache_bytes=decoded_bytes, older=older
    )
    archive = Archive(symbols.archive_url)
    service = open_stream_service(database_url, archive)
    try:
        app = create_app(
            queries,
            access,
            allowed_hosts=names,
            secure=listen.secure,
            price_per_core_hour=price_per_core_hour,
            cache=cache,
            symbols=SymbolService(
                engine,
                archive,
                texts=SourceTexts(
                    engine,
                    archive,
                    folder=state_dir / "uploads",
                    servers=clients(
                        symbols.debuginfod_urls if symbols.fetches.per_hour else (), SOURCE_DOWNLOADS
                    ),
                    limits=symbols.fetches,
                    roots=[SourceRoot.parse(root) for root in symbols.source_roots],
                ),
                announce=_announcer(symbols.redis_url) if symbols.redis_url else None,
                largest_bytes=symbols.largest_bytes,
            ),
            uploads=state_dir / "uploads",
            inspections=symbols.inspections,
            connections=pool.checkedout if isinstance(pool := engine.pool, QueuePool) else None,
            data=service,
            experiments=ExperimentService(engine),
            fleet=FleetService(engine),
            instructions=DisassemblyService(
                queries,
                archive,
                disassembler_of(symbols.binaries, engine, archive) if symbols.binaries else None,
            ),
            shared=engine,
        )
        config = uvicorn.Config(
            app,
            http=partial(CuttableConnection, connections=connections),  # type: ignore[arg-type] # any callable does
            backlog=BACKLOG,
            ssl_certfile=listen.tls_cert,
            ssl_keyfile=listen.tls_key,
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            ws="none",
            timeout_keep_alive=_SECONDS_BETWEEN_QUESTIONS,
            timeout_graceful_shutdown=_SECONDS_TO_FINISH,
        )
        config.load()
        if config.ssl is not None:
            config.ssl.minimum_version = ssl.TLSVersion.TLSv1_3
        structlog.get_logger("fleetprof.api").info("listening", address=_where(listen, bound))
        server = EndingStreams(config, service, _served_pair(listen))
        with (
            _ending_quietly(),
            serve_streams(service, data, access),
            asyncio.Runner(loop_factory=ServingLoop) as runner,
        ):
            runner.run(server.serve(sockets=[bound]))
    finally:
        bound.close()
        if listen.host.startswith(_UNIX):
            Path(listen.host.removeprefix(_UNIX)).unlink(missing_ok=True)
        queries.close()
        service.close()
        engine.dispose()


def _announcer(redis_url: str) -> Callable[[str, str], None]:
    """Notifies workers of uploaded symbols. Celery takes 0.4 s and 6 MB to import, so the first upload imports it."""

    @cache
    def caller() -> Callable[[str, str], None]:
        from symbolizer.worker.broker import make_caller  # noqa: PLC0415 - see above

        return make_caller(redis_url)

    def announce(key: str, why: str) -> None:
        caller()(key, why)

    return announce


def _served_pair(listen: Listen) -> ServedPair | None:
    if listen.tls_cert is None or listen.tls_key is None:
        return None
    return ServedPair(listen.tls_cert, listen.tls_key)


@contextmanager
def _ending_quietly() -> Iterator[None]:
    """Ignore the signal that stopped uvicorn: uvicorn raises it again after its shutdown."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _bind(listen: Listen) -> socket.socket:
    if listen.host.startswith(_UNIX):
        return _bind_unix(Path(listen.host.removeprefix(_UNIX)))
    try:
        family, kind, protocol, _, _ = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM)[
            0
        ]
        # With the protocol left 0, asyncio does not set TCP_NODELAY: observed as 40 ms on every answer.
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((listen.host, listen.port))
    except OSError as error:
        raise CannotStart(
            f"The API cannot listen on {listen.host} port {listen.port}: {error.strerror or error}. Change "
            "the address with FLEETPROF_API_HOST and FLEETPROF_API_PORT."
        ) from error
    bound.listen(BACKLOG)
    return bound


def _bind_unix(path: Path) -> socket.socket:
    """A socket that only its user can open, from its creation on."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if bound.connect_ex(str(path)) == 0:
        raise CannotStart(f"Another process already listens on {path}.")
    bound.close()
    path.unlink(missing_ok=True)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        bound.bind(str(path))
    except OSError as error:
        raise CannotStart(f"The API cannot listen on {path}: {error.strerror or error}.") from error
    finally:
        os.umask(before)
    bound.listen(BACKLOG)
    return bound


def _where(listen: Listen, bound: socket.socket) -> str:
    if listen.host.startswith(_UNIX):
        return listen.host
    host = f"[{listen.host}]" if ":" in listen.host else listen.host
    return f"{'https' if listen.secure else 'http'}://{host}:{bound.getsockname()[1]}"


def _is_private(host: str) -> bool:
    """Only processes of this machine, or only this user's, can reach the address."""
    if host.startswith(_UNIX) or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_any(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False
