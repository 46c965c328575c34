"""All settings of the server side, read once from the environment when a command starts.

Each is an environment variable `FLEETPROF_<NAME>`. `docs/settings.md` lists them; a test compares the two. Commands
get the frozen object and pass values down; no other code reads the environment. The gateway has options in place of
settings.
"""

import os
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from services.deployment.running_deployment import find_running_deployment, not_running_reason
from services.errors import SettingsProblem


def default_state_dir() -> Path:
    """`/var/lib/fleetprof` for root, else below `$XDG_STATE_HOME`.

    Root's home is usually closed to the unprivileged user that runs PostgreSQL.
    """
    if os.geteuid() == 0:
        return Path("/var/lib/fleetprof")
    try:
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "fleetprof"
    except RuntimeError as error:
        raise SettingsProblem(
            "This user has no home directory. Set FLEETPROF_STATE_DIR to a folder."
        ) from error


class Settings(BaseSettings):
    """Settings of every process except the gateway."""

    model_config = SettingsConfigDict(
        env_prefix="FLEETPROF_", frozen=True, extra="ignore", populate_by_name=True
    )

    state_dir: Path = Field(
        default_factory=default_state_dir,
        description="Folder of this machine's state: sockets, logs, caches and, under `up`, all data.",
    )
    database_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("FLEETPROF_DATABASE_URL", "DATABASE_URL"),
        description="URL of PostgreSQL: `postgresql://user:password@host/name`. Default: `up` starts its own server.",
    )
    redis_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("FLEETPROF_REDIS_URL", "REDIS_URL"),
        description="URL of Redis or Valkey: `redis://host:6379/0`. Default: `up` starts its own server.",
    )
    archive_url: str | None = Field(
        default=None,
        description="Archive of raw captures: a folder or an fsspec URL. Default: `STATE_DIR/archive`.",
    )
    symbol_cache_dir: Path | None = Field(
        default=None,
        description="Local cache of built symbol files. Default: `STATE_DIR/symbols`.",
    )
    stack_file_dir: Path | None = Field(
        default=None,
        description="Local folder of the memory-mapped file of stacks and names, which this machine's API processes share. Default: `STATE_DIR/stacks`.",
    )
    symbol_dirs: Annotated[tuple[Path, ...], NoDecode] = Field(
        default=(),
        description="Folders of symbols besides `/usr/lib/debug`, separated by `:`.",
    )
    debuginfod_urls: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="debuginfod servers, separated by spaces. Workers fetch symbols that were not uploaded; the API fetches sources, and binaries for their instructions.",
    )
    symbol_download_bytes: int = Field(
        default=4 << 30,
        ge=1 << 20,
        description="Largest file to fetch from a debuginfod server, in bytes.",
    )
    symbol_copies_bytes: int = Field(
        default=20 << 30,
        ge=1 << 20,
        description="Size limit of one machine's local copies of uploaded and downloaded symbol files, in bytes.",
    )
    symbol_cache_bytes: int = Field(
        default=20 << 30,
        ge=1 << 20,
        description="Size limit of one machine's cache of built symbol files, in bytes; the least recently used are evicted.",
    )
    source_roots: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Source checkouts on the API's machine, `FROM=TO`, separated by `:`.",
    )
    source_copies_bytes: int = Field(
        default=1 << 30,
        ge=0,
        description="Size limit of archived sources from debuginfod servers, in bytes; the oldest are deleted.",
    )
    source_fetches_per_hour: int = Field(
        default=600,
        ge=0,
        description="Limit of sources, and of binaries for their instructions, that each API process fetches from debuginfod servers per hour, each on its own. 0: none.",
    )
    symbol_upload_bytes: int = Field(
        default=8 << 30,
        ge=1 << 20,
        description="Largest file with symbols that the API accepts, in bytes.",
    )
    concurrent_inspections: int = Field(
        default=4,
        ge=1,
        description="Uploaded files that the API inspects at the same time, each in a process with at most 2 GiB of address space.",
    )
    api_host: str = Field(
        default="127.0.0.1",
        description="Address on which the API listens. Addresses other than loopback need TLS and tokens.",
    )
    api_port: int = Field(
        default=7070, ge=0, le=65535, description="Port on which the API listens. 0: any free port."
    )
    api_tls_cert: Path | None = Field(default=None, description="Certificate chain of the API, PEM.")
    api_tls_key: Path | None = Field(default=None, description="Private key of `api_tls_cert`, PEM.")
    api_tokens: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Bearer tokens of the API, comma-separated `role:token`. Roles: viewer, operator, admin.",
    )
    session_secret_file: Path | None = Field(
        default=None,
        description="File with at least 32 random bytes that signs login links and sessions; the same for all replicas of the API. "
        "Default: `STATE_DIR/api-secret`, made at the first start.",
    )
    api_allowed_hosts: tuple[str, ...] = Field(
        default=(),
        description="Host names that the API accepts in the Host header besides loopback ones, a JSON list.",
    )
    api_connections: int = Field(
        default=1024,
        ge=16,
        description="Limit of open connections to the API.",
    )
    api_connections_per_address: int = Field(
        default=128,
        ge=1,
        description="Limit of open connections to the API from one address.",
    )
    data_listen: str | None = Field(
        default=None,
        description="gRPC address of the data API, `HOST:PORT` or `unix:/PATH`. Default: HTTP only.",
    )
    data_client_ca: Path | None = Field(
        default=None,
        description="Authority that signs the certificates of gRPC clients of the data API, PEM.",
    )
    url: str | None = Field(
        default=None,
        description="URL of a remote fleetprof API for `fleetprof symbols` and `fleetprof url`, e.g. `https://fleetprof.example`.",
    )
    token: str | None = Field(
        default=None,
        description="Bearer token that `fleetprof symbols` and `fleetprof url` send to the API at `FLEETPROF_URL`.",
    )
    gateway_ca: Path | None = Field(
        default=None, description="Authority that signs gateways' certificates, PEM."
    )
    gateway_cert: Path | None = Field(
        default=None, description="Certificate that the collector presents to gateways, PEM."
    )
    gateway_key: Path | None = Field(default=None, description="Private key of `gateway_cert`, PEM.")
    ca_passphrase: SecretStr | None = Field(
        default=None, description="Passphrase of the authority's key for `fleetprof certs`."
    )
    worker_processes: int = Field(
        default=0, ge=0, description="Processes of one worker. 0: one for each usable CPU."
    )
    worker_memory_bytes: int = Field(
        default=4 << 30,
        ge=0,
        description="Limit of private memory of each worker process, in bytes. 0: no limit.",
    )
    worker_id_cache_bytes: int = Field(
        default=256 << 20,
        ge=1 << 20,
        description="Memory of each worker process for its cache of stack ids, in bytes.",
    )
    worker_partitions: str = Field(
        default="",
        description="Partitions of captures that a worker ingests first, to keep its caches warm: `2/3` for the second of three workers. "
        "Default: no preference.",
    )
    concurrent_visits: int = Field(
        default=32, ge=1, description="Machines that one collector visits at the same time."
    )
    collector_stack_cache_bytes: int = Field(
        default=512 << 20,
        ge=1 << 20,
        description="Memory of the collector for its cache of the functions of stacks, in bytes.",
    )
    symbol_requests_per_hour: int = Field(
        default=0,
        ge=0,
        description="Requests to gateways per hour, in the whole fleet, for symbols that no other source has. 0: none.",
    )
    price_per_core_hour: float | None = Field(
        default=None,
        ge=0,
        description="Price of one core for one hour, in any currency. Default: no results in money.",
    )
    prometheus_url: str | None = Field(
        default=None,
        description="Prometheus server for request rates of `fleetprof report capacity --prometheus`, e.g. `http://prometheus:9090`.",
    )
    query_seconds: float = Field(
        default=30.0,
        gt=0,
        description="Time limit of one query with all its statements and sums, in seconds. A slower query fails with a problem document.",
    )
    query_bytes: int = Field(
        default=2 << 30,
        ge=1 << 20,
        description="Memory limit of the data that one query reads and unpacks, in bytes. At most four queries run at the same time.",
    )
    decoded_cache_bytes: int = Field(
        default=512 << 20,
        ge=0,
        description="Size limit of the API's cache of decoded cells and chunks, in bytes; the least recently used are evicted. 0: no cache.",
    )
    response_cache_ttl: float = Field(
        default=5.0,
        ge=0,
        description="Seconds for which the API caches responses. 0: no cache.",
    )
    response_cache_bytes: int = Field(
        default=64 << 20,
        ge=0,
        description="Size limit of the API's response cache, in bytes; the oldest responses are evicted. 0: no cache.",
    )
    collector_metrics_listen: str | None = Field(
        default=None,
        description="Address of the collector's `/healthz`, `/readyz` and `/metrics`: `HOST:PORT` or `unix:/PATH`. Default: none.",
    )
    worker_metrics_listen: str | None = Field(
        default=None,
        description="Address of a worker's `/healthz`, `/readyz` and `/metrics`: `HOST:PORT` or `unix:/PATH`. Default: none.",
    )
    metrics_allow_remote: bool = Field(
        default=False,
        description="Allow addresses other than loopback for health checks and metrics of collectors and workers.",
    )
    lake_url: str | None = Field(
        default=None,
        description="Parquet lake to which closed days are exported: a folder or an fsspec URL. Default: no lake.",
    )
    lake_retention_days: int = Field(default=1100, ge=1, description="Days of data that the lake keeps.")
    lake_memory_bytes: int = Field(
        default=4 << 30,
        ge=64 << 20,
        description="Memory limit of DuckDB, in bytes, for one query of the lake and for the check of an exported day.",
    )
    segments_engine: str = Field(
        default="duckdb",
        description="Engine that runs SQL queries of the lake: `duckdb`, inside the querying process, or Spark at "
        "`spark://HOST:PORT`, `spark://yarn`, `spark://k8s://…` or `spark://local[4]` (the extra `spark`, and Java 17).",
    )
    retention_days: int = Field(default=35, ge=1, description="Days that profiles and raw captures are kept.")
    cell_retention_days: int = Field(
        default=92,
        ge=1,
        description="Days that rollups, coverage and visits are kept, rounded up to whole buckets of 64 days. Queries of "
        "older times read the lake.",
    )
    symbol_retention_days: int = Field(
        default=90,
        ge=1,
        description="Days that debug files, symbol caches and sources are kept after their last use.",
    )

    @field_validator(
        "state_dir",
        "symbol_cache_dir",
        "stack_file_dir",
        "api_tls_cert",
        "api_tls_key",
        "session_secret_file",
        "data_client_ca",
        "gateway_ca",
        "gateway_cert",
        "gateway_key",
    )
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        """Make paths absolute, because parts of `up` work in another directory."""
        return path and path.absolute()

    @field_validator("segments_engine")
    @classmethod
    def _known_engine(cls, url: str) -> str:
        if url != "duckdb" and not url.startswith("spark://"):
            raise ValueError(f"unknown engine {url!r}: expected duckdb, or a URL that begins with spark://")
        return url

    @field_validator("lake_url")
    @classmethod
    def _one_folder(cls, url: str | None) -> str | None:
        """Make a folder absolute; keep a URL unchanged."""
        return str(Path(url).absolute()) if url and "://" not in url else url or None

    @field_validator("symbol_dirs", mode="before")
    @classmethod
    def _folders(cls, value: object) -> object:
        """Split like PATH, and make each folder absolute."""
        return (
            tuple(Path(part).absolute() for part in value.split(":") if part)
            if isinstance(value, str)
            else value
        )

    @field_validator("prometheus_url")
    @classmethod
    def _server(cls, url: str | None) -> str | None:
        """Accept an HTTP server with an optional path prefix."""
        parts = urlsplit(url or "")
        if url and (
            parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment
        ):
            raise ValueError(
                f"invalid server {parts.hostname or 'without a host name'}: expected a URL such as http://prometheus:9090"
            )
        return url or None

    @field_validator("debuginfod_urls", mode="before")
    @classmethod
    def _servers(cls, value: object) -> object:
        """Split at spaces and commas, as elfutils splits DEBUGINFOD_URLS."""
        urls = tuple(value.replace(",", " ").split()) if isinstance(value, str) else value
        for url in urls if isinstance(urls, tuple) else ():
            parts = urlsplit(url)
            if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
                raise ValueError(
                    f"invalid server {parts.hostname or 'without a host name'}: expected a URL such as https://debuginfod.example"
                )
        return urls

    @field_validator("source_roots", mode="before")
    @classmethod
    def _roots(cls, value: object) -> object:
        roots = tuple(part for part in value.split(":") if part) if isinstance(value, str) else value
        for root in roots if isinstance(roots, tuple) else ():
            stated, _, here = root.partition("=")
            if not (stated.startswith("/") and here.startswith("/")):
                raise ValueError(f"invalid root {root!r}: expected FROM=TO with two absolute paths")
        return roots

    @field_validator("archive_url")
    @classmethod
    def _absolute_archive(cls, url: str | None) -> str | None:
        return url if url is None or "://" in url else str(Path(url).absolute())

    @field_validator("api_tokens", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return (
            tuple(part.strip() for part in value.split(",") if part.strip())
            if isinstance(value, str)
            else value
        )

    @property
    def archive(self) -> str:
        """Archive of raw captures: a folder or an fsspec URL."""
        return self.archive_url or str(self.state_dir / "archive")

    @property
    def symbol_cache(self) -> Path:
        """Local cache of built symbol files."""
        return self.symbol_cache_dir or self.state_dir / "symbols"

    @property
    def stack_files(self) -> Path:
        """Folder of the file of stacks and names."""
        return self.stack_file_dir or self.state_dir / "stacks"

    def needed_database_url(self) -> str:
        """URL of the configured database, else of the running `up`'s; raises SettingsProblem if there is neither."""
        if self.database_url is None:
            if deployment := find_running_deployment(self.state_dir):
                return deployment.database_url
            raise SettingsProblem(
                f"FLEETPROF_DATABASE_URL is not set. {not_running_reason(self.state_dir)} "
                "Set FLEETPROF_DATABASE_URL=postgresql://user@host/name, or run `fleetprof up`, which starts a database."
            )
        return self.database_url

    def known_redis_url(self) -> str | None:
        """URL of the configured broker, else of the running `up`'s; None if there is neither."""
        if self.redis_url is None and (deployment := find_running_deployment(self.state_dir)):
            return deployment.redis_url
        return self.redis_url

    def needed_redis_url(self) -> str:
        """As `known_redis_url`; raises SettingsProblem if there is none."""
        url = self.known_redis_url()
        if url is None:
            raise SettingsProblem(
                f"FLEETPROF_REDIS_URL is not set. {not_running_reason(self.state_dir)} "
                "Set FLEETPROF_REDIS_URL=redis://host:6379/0, or run `fleetprof up`, which starts a broker."
            )
        return url


def variables(name: str) -> frozenset[str]:
    """Environment variables of a setting, in capitals; reading ignores case."""
    alias = Settings.model_fields[name].validation_alias
    own = f"FLEETPROF_{name.upper()}"
    return frozenset({own, *(map(str, alias.choices) if isinstance(alias, AliasChoices) else ())})


def read_settings(**overrides: object) -> Settings:
    """Settings from the environment; options of the command line override them.

    Raises SettingsProblem with each invalid variable and the reason.
    """
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})  # type: ignore[arg-type]  # checked by pydantic
    except ValidationError as error:
        wrong = "; ".join(
            f"FLEETPROF_{'_'.join(str(part) for part in item['loc']).upper().removeprefix('FLEETPROF_')}: {item['msg']}"
            for item in error.errors()
        )
        raise SettingsProblem(f"Invalid settings: {wrong}") from error
