"""All settings of the server side, read once from the environment when a command starts.

Each is a variable `FLEETPROF_<NAME>`; `docs/settings.md` lists them (a test compares). Commands get
the frozen object and pass values down; nothing else reads the environment. The gateway has no
settings, only options.
"""

import os
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from services.errors import SettingsProblem
from services.running import none_runs, running_stack

"""Views that are asked about once a minute, each."""


def default_state_dir() -> Path:
    """`/var/lib/fleetprof` for root, else below `$XDG_STATE_HOME`.

    Root's home is commonly closed to the unprivileged user that PostgreSQL must run as.
    """
    if os.geteuid() == 0:
        return Path("/var/lib/fleetprof")
    try:
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "fleetprof"
    except RuntimeError as error:
        raise SettingsProblem("This user has no home directory; set FLEETPROF_STATE_DIR.") from error


class Settings(BaseSettings):
    """Settings of every process but the gateway."""

    model_config = SettingsConfigDict(
        env_prefix="FLEETPROF_", frozen=True, extra="ignore", populate_by_name=True
    )

    state_dir: Path = Field(
        default_factory=default_state_dir,
        description="Where this machine's part of the state lies: sockets, logs, caches and, under `up`, all data.",
    )
    database_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("FLEETPROF_DATABASE_URL", "DATABASE_URL"),
        description="PostgreSQL, `postgresql://user:password@host/name`. Not set: `up` runs one of its own.",
    )
    redis_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("FLEETPROF_REDIS_URL", "REDIS_URL"),
        description="Redis or Valkey, `redis://host:6379/0`. Not set: `up` runs one of its own.",
    )
    archive_url: str | None = Field(
        default=None,
        description="Where raw captures are kept: a directory or an fsspec URL. Not set: `STATE_DIR/archive`.",
    )
    symbol_cache_dir: Path | None = Field(
        default=None,
        description="Local cache of built symbol files. Not set: `STATE_DIR/symbols`.",
    )
    stack_file_dir: Path | None = Field(
        default=None,
        description="Local folder with the file of stacks and names that this machine's API processes map. Not set: `STATE_DIR/stacks`.",
    )
    symbol_dirs: Annotated[tuple[Path, ...], NoDecode] = Field(
        default=(),
        description="More folders with symbols besides `/usr/lib/debug`, separated by `:`.",
    )
    debuginfod_urls: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="debuginfod servers that workers ask for symbols nobody uploaded, and the API for sources, separated by spaces.",
    )
    symbol_download_bytes: int = Field(
        default=4 << 30,
        ge=1 << 20,
        description="Largest file that is fetched from a debuginfod server, in bytes.",
    )
    symbol_copies_bytes: int = Field(
        default=20 << 30,
        ge=1 << 20,
        description="Bytes of uploaded and downloaded symbol files that one machine keeps copies of.",
    )
    symbol_cache_bytes: int = Field(
        default=20 << 30,
        ge=1 << 20,
        description="Bytes of built symbols that one machine keeps; those used longest ago go first.",
    )
    source_roots: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Checkouts on the API's machine that source texts may be read from, `FROM=TO`, separated by `:`.",
    )
    source_copies_bytes: int = Field(
        default=1 << 30,
        ge=0,
        description="Bytes of the archive for sources that readers had the API fetch from debuginfod servers; the oldest go first.",
    )
    source_fetches_per_hour: int = Field(
        default=600,
        ge=0,
        description="How often in an hour each process of the API asks a debuginfod server for a source; 0: never.",
    )
    symbol_upload_bytes: int = Field(
        default=8 << 30,
        ge=1 << 20,
        description="Largest file with symbols that the API takes, in bytes.",
    )
    concurrent_inspections: int = Field(
        default=4,
        ge=1,
        description="Uploaded files the API looks into at the same time, each in a process with 2 GiB of address space at most.",
    )
    api_host: str = Field(
        default="127.0.0.1",
        description="Address the API listens on. Anything but a loopback address needs TLS and tokens.",
    )
    api_port: int = Field(
        default=7070, ge=0, le=65535, description="Port the API listens on; 0 takes a free one."
    )
    api_tls_cert: Path | None = Field(default=None, description="Certificate chain of the API, PEM.")
    api_tls_key: Path | None = Field(default=None, description="Private key of `api_tls_cert`, PEM.")
    api_tokens: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Bearer tokens of the API, comma-separated `role:token`; roles are viewer, operator and admin.",
    )
    api_allowed_hosts: tuple[str, ...] = Field(
        default=(),
        description="Names the API may be called by besides loopback ones, a JSON list: the Host header is checked.",
    )
    api_connections: int = Field(
        default=1024,
        ge=16,
        description="Connections that the API keeps at the same time.",
    )
    api_connections_per_address: int = Field(
        default=128,
        ge=1,
        description="Connections of one address that the API keeps at the same time.",
    )
    data_listen: str | None = Field(
        default=None,
        description="Where the API listens by gRPC for programs that stream data, `HOST:PORT` or `unix:/PATH`. Not set: by HTTP only.",
    )
    data_client_ca: Path | None = Field(
        default=None, description="CA of the certificates that callers by gRPC must show, PEM."
    )
    url: str | None = Field(
        default=None,
        description="API of a fleetprof elsewhere that `fleetprof symbols` talks to, e.g. `https://fleetprof.example`.",
    )
    token: str | None = Field(
        default=None,
        description="Bearer token that `fleetprof symbols` shows to the API at `FLEETPROF_URL`.",
    )
    gateway_ca: Path | None = Field(
        default=None, description="CA that gateways' certificates must be signed by, PEM."
    )
    gateway_cert: Path | None = Field(
        default=None, description="Certificate the collector shows to gateways, PEM."
    )
    gateway_key: Path | None = Field(default=None, description="Private key of `gateway_cert`, PEM.")
    ca_passphrase: SecretStr | None = Field(
        default=None, description="Unlocks the key of the authority that `fleetprof certs` signs with."
    )
    worker_processes: int = Field(
        default=0, ge=0, description="Processes of one worker; 0: one for each CPU it may use."
    )
    worker_memory_bytes: int = Field(
        default=4 << 30,
        ge=0,
        description="Memory that each process of a worker may have of its own, in bytes; 0: as much as there is.",
    )
    worker_stack_bytes: int = Field(
        default=256 << 20,
        ge=1 << 20,
        description="Memory in which each process of a worker remembers which stacks have which ids, in bytes.",
    )
    worker_partitions: str = Field(
        default="",
        description="Which captures a worker takes first, so that its caches stay warm: `2/3` for the second of three workers. "
        "Not set: all alike, those of an own partition first.",
    )
    concurrent_visits: int = Field(
        default=32, ge=1, description="Machines one collector visits at the same time."
    )
    collector_stack_bytes: int = Field(
        default=512 << 20,
        ge=1 << 20,
        description="Memory in which the collector remembers which functions stacks have, in bytes.",
    )
    symbol_asks_per_hour: int = Field(
        default=0,
        ge=0,
        description="How many gateways in an hour, over the whole fleet, are asked for symbols nobody else has; 0: none.",
    )
    price_per_core_hour: float | None = Field(
        default=None,
        ge=0,
        description="What an hour of one core costs, in any currency. Not set: answers are not shown in money.",
    )
    prometheus_url: str | None = Field(
        default=None,
        description="Prometheus that `fleetprof report capacity --prometheus` asks for request rates, `http://prometheus:9090`.",
    )
    query_seconds: float = Field(
        default=30.0,
        gt=0,
        description="Seconds one question may take, all its statements and sums together; then it ends with a problem document.",
    )
    query_bytes: int = Field(
        default=2 << 30,
        ge=1 << 20,
        description="Memory one question may take, in bytes: what it reads and unpacks. Four are answered at the same time.",
    )
    decoded_cache_bytes: int = Field(
        default=512 << 20,
        ge=0,
        description="Bytes of the API's cache of decoded cells and chunks; the least recently used are evicted first. 0: none are cached.",
    )
    answer_seconds: float = Field(
        default=5.0,
        ge=0,
        description="Seconds for which the API caches responses. 0: no response is cached.",
    )
    answer_bytes: int = Field(
        default=64 << 20,
        ge=0,
        description="Bytes of the API's response cache; the oldest responses are evicted first. 0: no response is cached.",
    )
    collector_observe: str | None = Field(
        default=None,
        description="Where the collector answers `/healthz`, `/readyz` and `/metrics`: `HOST:PORT` or `unix:/PATH`. Not set: nowhere.",
    )
    worker_observe: str | None = Field(
        default=None,
        description="Where a worker answers `/healthz`, `/readyz` and `/metrics`: `HOST:PORT` or `unix:/PATH`. Not set: nowhere.",
    )
    observe_openly: bool = Field(
        default=False,
        description="Let probes and metrics of collectors and workers be asked from other machines.",
    )
    lake_url: str | None = Field(
        default=None,
        description="Where closed days are exported as Parquet: a folder or an fsspec URL. Not set: nowhere.",
    )
    lake_retention_days: int = Field(default=1100, ge=1, description="Days that the lake keeps.")
    lake_memory_bytes: int = Field(
        default=4 << 30,
        ge=64 << 20,
        description="Memory that DuckDB may take for one answer out of the lake, and for the check of an exported day.",
    )
    retention_days: int = Field(default=35, ge=1, description="Days that profiles and raw captures are kept.")
    cell_retention_days: int = Field(
        default=400,
        ge=1,
        description="Days that merged cells, coverage and visits are kept, rounded up to whole buckets of 64 days.",
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
        "data_client_ca",
        "gateway_ca",
        "gateway_cert",
        "gateway_key",
    )
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        """Paths stay what they are in parts that work in another directory."""
        return path and path.absolute()

    @field_validator("lake_url")
    @classmethod
    def _one_folder(cls, url: str | None) -> str | None:
        """A folder stays what it is in parts that work in another directory."""
        return str(Path(url).absolute()) if url and "://" not in url else url or None

    @field_validator("symbol_dirs", mode="before")
    @classmethod
    def _folders(cls, value: object) -> object:
        """Like PATH, but every one absolute: parts work in another directory."""
        return (
            tuple(Path(part).absolute() for part in value.split(":") if part)
            if isinstance(value, str)
            else value
        )

    @field_validator("prometheus_url")
    @classmethod
    def _server(cls, url: str | None) -> str | None:
        """A server, and perhaps a path before its API's."""
        parts = urlsplit(url or "")
        if url and (
            parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment
        ):
            raise ValueError("it is no URL such as http://prometheus:9090")
        return url or None

    @field_validator("debuginfod_urls", mode="before")
    @classmethod
    def _servers(cls, value: object) -> object:
        """As elfutils' own variable has them."""
        urls = tuple(value.replace(",", " ").split()) if isinstance(value, str) else value
        for url in urls if isinstance(urls, tuple) else ():
            parts = urlsplit(url)
            if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
                raise ValueError(f"{parts.hostname or 'it'} is no URL such as https://debuginfod.example")
        return urls

    @field_validator("source_roots", mode="before")
    @classmethod
    def _roots(cls, value: object) -> object:
        roots = tuple(part for part in value.split(":") if part) if isinstance(value, str) else value
        for root in roots if isinstance(roots, tuple) else ():
            stated, _, here = root.partition("=")
            if not (stated.startswith("/") and here.startswith("/")):
                raise ValueError(f"{root} is not FROM=TO with two absolute paths")
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
        """Where raw captures are kept."""
        return self.archive_url or str(self.state_dir / "archive")

    @property
    def symbol_cache(self) -> Path:
        """Local cache of built symbol files."""
        return self.symbol_cache_dir or self.state_dir / "symbols"

    @property
    def stack_files(self) -> Path:
        """Folder with the file of stacks and names."""
        return self.stack_file_dir or self.state_dir / "stacks"

    def needed_database_url(self) -> str:
        """The database, else that of the `up` running here; raises SettingsProblem."""
        if self.database_url is None:
            if stack := running_stack(self.state_dir):
                return stack.database_url
            raise SettingsProblem(
                f"FLEETPROF_DATABASE_URL is not set. {none_runs(self.state_dir)} "
                "Write FLEETPROF_DATABASE_URL=postgresql://user@host/name, or run `fleetprof up`, which brings a database."
            )
        return self.database_url

    def known_redis_url(self) -> str | None:
        """The broker, else that of the `up` running here; None: neither is there."""
        if self.redis_url is None and (stack := running_stack(self.state_dir)):
            return stack.redis_url
        return self.redis_url

    def needed_redis_url(self) -> str:
        """As `known_redis_url`; raises SettingsProblem instead of None."""
        url = self.known_redis_url()
        if url is None:
            raise SettingsProblem(
                f"FLEETPROF_REDIS_URL is not set. {none_runs(self.state_dir)} "
                "Write FLEETPROF_REDIS_URL=redis://host:6379/0, or run `fleetprof up`, which brings a broker."
            )
        return url


def variables(name: str) -> frozenset[str]:
    """Environment variables that a setting is read from, in capitals: they are found in any case."""
    alias = Settings.model_fields[name].validation_alias
    own = f"FLEETPROF_{name.upper()}"
    return frozenset({own, *(map(str, alias.choices) if isinstance(alias, AliasChoices) else ())})


def read_settings(**overrides: object) -> Settings:
    """Settings from the environment, with what a command line said on top.

    Raises SettingsProblem naming each variable that is wrong.
    """
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})  # type: ignore[arg-type]  # checked by pydantic
    except ValidationError as error:
        wrong = "; ".join(
            f"FLEETPROF_{'_'.join(str(part) for part in item['loc']).upper().removeprefix('FLEETPROF_')}: {item['msg']}"
            for item in error.errors()
        )
        raise SettingsProblem(f"Settings are wrong: {wrong}") from error
