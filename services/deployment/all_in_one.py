"""All parts on one machine: the parts, their start order and the environment of each.

PostgreSQL and Valkey outlive a killed `fleetprof up`; the next start adopts them. The other parts are children of this
process. All parts communicate over Unix sockets that only this user can open. Only the API listens on loopback, for
the browser (docs/architecture.md).
"""

import http.client
import os
import platform
import secrets
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from services.configuration.settings import Settings, variables
from services.deployment.database_setup import DatabaseSetup, Sampling
from services.deployment.fleet_processes import parts
from services.deployment.fork_server import ForkServer
from services.deployment.ports import choose_port
from services.deployment.process_environment import API, COLLECTOR, WORKER, reaches_gateways, withheld
from services.deployment.running_deployment import RunningDeployment, metrics_address, run_dir
from services.deployment.supervisor import Child, Part
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.errors import CannotStart
from services.monitoring.metrics_address import MetricsAddress
from services.monitoring.probe_client import is_ok
from simulation.fleet_plan import FleetPlan
from simulation.socket_paths import socket_of

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from collector.dispatch import Dispatch
    from storage.captures import Due

Report = Callable[[str], None]

OWN_SYMBOL_REQUESTS_PER_HOUR = 60
"""Limit of binaries that the collector requests from the gateway of this machine if the setting is absent."""
_THIS_MACHINE = ("/=/",)
"""Source roots of `up`: sampled programs were commonly built here. Only sources of sampled functions are read."""
RESEND_S = 5.0
"""Seconds until a task for an unfinished capture is sent again while the last captures are ingested."""


class LocalDeployment:
    """The parts of one `up`: call `start`, then `tend` periodically, then `stop`."""

    def __init__(
        self,
        settings: Settings,
        sampling: Sampling,
        report: Report,
        *,
        stop_requested: Callable[[], bool] = lambda: False,
        fleet: FleetPlan | None = None,
    ) -> None:
        """`start` polls `stop_requested` and ends when it is true. A `fleet` replaces this machine."""
        self._settings = settings
        self._sampling = sampling
        self._report = report
        self._stop_requested = stop_requested
        self.fleet = fleet
        self._folder = run_dir(settings.state_dir)
        self._logs = settings.state_dir / "log"
        self._postgres = None if settings.database_url else EmbeddedPostgres(settings.state_dir / "postgres")
        self._valkey = None if settings.redis_url else EmbeddedValkey(settings.state_dir / "valkey")
        self._fork_server = ForkServer(reaches_gateways, self._check_wanted)
        self._children: list[Child] = []
        self._engine: Engine | None = None
        self._dispatch: Dispatch[Due] | None = None  # loaded on first use: 60 MB, 1.5 s
        self.machine = platform.node() or "localhost"
        self.gateway = socket_of(fleet.sockets, 0) if fleet else f"unix:{self._folder / 'gateway.sock'}"
        self.port = settings.api_port
        self.other_port: str | None = None
        """Sentence with the reason why `port` is not the default; None if it is."""
        self.token = secrets.token_urlsafe(24)
        """Bearer token of this run, used by `up` itself."""

    @property
    def running(self) -> RunningDeployment:
        """Addresses of the parts."""
        return RunningDeployment(
            pid=os.getpid(),
            database_url=self._database_url(),
            redis_url=self._redis_url(),
            api_url=f"http://127.0.0.1:{self.port}",
            gateway=self.gateway,
        )

    def start(self) -> None:
        """Start every part and report when each is ready. Raises CannotStart; parts already started keep running.

        The fork server imports the code of API, worker and collector while the servers start. The three are forked once
        the tables exist.
        """
        chosen = choose_port(self._settings.api_port, explicit="api_port" in self._settings.model_fields_set)
        self.port, self.other_port = chosen.number, chosen.instead
        self._fork_server.start(self._logs / "fork_server.log")
        if self._postgres is not None:
            with self._step("PostgreSQL"):
                self._postgres.start()
        else:
            from storage.database import normalized  # noqa: PLC0415 - SQLAlchemy, for a sentence

            place = normalized(self._database_url())
            self._report(
                f"  using the database {place.database} on {place.host or 'this machine'} (FLEETPROF_DATABASE_URL)"
            )
        if self._valkey is not None:
            with self._step("Valkey"):
                self._valkey.start()
        with self._step("tables"):
            messages = DatabaseSetup(
                self._database_url(), self.machine, self.gateway, self._sampling, self.fleet
            ).run_in_child()
        if messages:
            self._report(messages)
        machines = [self._gateway()] if self.fleet is None else parts(self.fleet, self._logs)
        sampled = [self._begin(part) for part in machines]
        api = self._begin(self._api())
        worker = self._begin(self._worker())
        collector = self._begin(self._collector()) if self.fleet is None else None
        name = "gateway" if self.fleet is None else f"{self.fleet.machines:,} simulated machines"
        for step, children in ((name, sampled), ("API", [api]), ("symbolizer", [worker])):
            self._await(step, children)
        if self.fleet is not None:
            self._seed_past(self.fleet)
        self._await("collector", [collector or self._begin(self._collector())])

    def tend(self) -> list[str]:
        """Restart parts that ended; returns one sentence for each."""
        messages = []
        for name, server in (("PostgreSQL", self._postgres), ("Valkey", self._valkey)):
            if server is not None and server.pid is None:
                messages.append(f"{name} ended; restarting it")
                try:
                    server.start()
                except CannotStart as error:
                    messages.append(str(error))
        return messages + [sentence for child in self._children if (sentence := child.tend())]

    def stop_sampling(self) -> None:
        """End the collector: no new visit begins, and running visits finish."""
        for child in self._children:
            if child.part.name == COLLECTOR:
                child.stop()
        self._children = [child for child in self._children if child.part.name != COLLECTOR]
        from collector.dispatch import Dispatch  # noqa: PLC0415 - used at the end only, see `__init__`
        from storage.database import open_engine  # noqa: PLC0415
        from symbolizer.worker.broker import make_sender  # noqa: PLC0415

        self._engine = open_engine(self._database_url(), application="up", pool_size=1)
        self._dispatch = Dispatch(make_sender(self._redis_url()), resend_s=RESEND_S)

    def send_due(self) -> None:
        """Send waiting captures to ingestion again. The collector does this before `stop_sampling`."""
        from collector.sweep import send_due  # noqa: PLC0415 - as in `stop_sampling`
        from storage.errors import DatabaseError  # noqa: PLC0415

        if self._engine is not None and self._dispatch is not None:
            with suppress(DatabaseError):  # `tend` restarts the database
                send_due(self._engine, self._dispatch)

    def stop(self) -> None:
        """End every part in reverse start order. A part that fails to end does not keep the others from ending."""
        with ExitStack() as parts:
            if self._postgres is not None:
                parts.callback(self._postgres.stop)
            if self._valkey is not None:
                parts.callback(self._valkey.stop)
            if self._engine is not None:
                parts.callback(self._engine.dispose)
            parts.callback(self._fork_server.close)
            for child in self._children:
                parts.callback(child.stop)
        self._children = []

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        self._check_wanted()
        begun = monotonic()
        yield
        self._report(f"  ✓ {name} ({monotonic() - begun:.1f} s)")

    def _seed_past(self, fleet: FleetPlan) -> None:
        from simulation.store_seeding import seed_past  # noqa: PLC0415 - few stacks have a past
        from storage.archive import Archive  # noqa: PLC0415
        from storage.database import open_engine  # noqa: PLC0415

        engine, archive = (
            open_engine(self._database_url(), application="up", pool_size=1),
            Archive(self._settings.archive),
        )
        try:
            for line in seed_past(engine, archive, fleet, datetime.now(UTC), self._check_wanted):
                self._report(f"  ✓ {line}")
        finally:
            engine.dispose()

    def _begin(self, part: Part) -> Child:
        self._check_wanted()
        child = Child(part)
        self._children.append(child)
        child.start()
        return child

    def _await(self, name: str, children: Sequence[Child]) -> None:
        """Report when all children serve and how long they took."""
        for child in children:
            child.wait_until_ready(self._check_wanted)
        self._report(f"  ✓ {name} ({max(child.runs_for_s for child in children):.1f} s)")

    def _check_wanted(self) -> None:
        if self._stop_requested():
            raise CannotStart("Stopped before all parts had started.")

    def _database_url(self) -> str:
        return self._settings.database_url or (self._postgres.url() if self._postgres else "")

    def _redis_url(self) -> str:
        return self._settings.redis_url or (self._valkey.url() if self._valkey else "")

    def _environment(self, part: str) -> dict[str, str]:
        """Environment of a server-side part. Values are not passed as arguments, which every user can read."""
        variables_of_part = {
            "FLEETPROF_STATE_DIR": str(self._settings.state_dir),
            "FLEETPROF_DATABASE_URL": self._database_url(),
            "FLEETPROF_REDIS_URL": self._redis_url(),
            "FLEETPROF_ARCHIVE_URL": self._settings.archive,
            "FLEETPROF_SYMBOL_CACHE_DIR": str(self._settings.symbol_cache),
            "FLEETPROF_STACK_FILE_DIR": str(self._settings.stack_files),
            "FLEETPROF_SYMBOL_DIRS": ":".join(str(folder) for folder in self._symbol_dirs()),
            "FLEETPROF_SOURCE_ROOTS": ":".join(self._settings.source_roots or _THIS_MACHINE),
            "FLEETPROF_API_HOST": "127.0.0.1",
            "FLEETPROF_API_PORT": str(self.port),
            "FLEETPROF_API_TOKENS": ",".join((f"viewer:{self.token}", *self._settings.api_tokens)),
            "FLEETPROF_DATA_LISTEN": self._settings.data_listen or f"unix:{self._folder / 'data.sock'}",
            "FLEETPROF_WORKER_PROCESSES": str(self._settings.worker_processes or 1),
            "FLEETPROF_SYMBOL_REQUESTS_PER_HOUR": str(self._symbol_requests()),
            "FLEETPROF_COLLECTOR_METRICS_LISTEN": str(self._metrics_address(COLLECTOR)),
            "FLEETPROF_WORKER_METRICS_LISTEN": str(self._metrics_address(WORKER)),
        }
        return {name: value for name, value in variables_of_part.items() if name not in withheld(part)}

    def _left_out(self) -> frozenset[str]:
        """Variables of settings that this deployment does not have; a part must not read them from the environment."""
        left = Settings.model_fields.keys() - self._settings.model_fields_set
        return frozenset().union(*map(variables, left))

    def _symbol_requests(self) -> int:
        """Hourly limit: the setting, else one that allows requests to this machine's gateway.

        The gateway finds deleted files and files in containers.
        """
        if "symbol_requests_per_hour" in self._settings.model_fields_set or self.fleet:
            return self._settings.symbol_requests_per_hour
        return OWN_SYMBOL_REQUESTS_PER_HOUR

    def _symbol_dirs(self) -> Sequence[Path]:
        own = (self.fleet.symbols,) if self.fleet else ()
        return (*own, *self._settings.symbol_dirs)

    def _part(self, name: str, module: str, arguments: list[str], ready: Callable[[], bool]) -> Part:
        is_server = module == "services"
        left_out = self._left_out() | withheld(name)
        return Part(
            name=name,
            command=[
                sys.executable,
                "-P",
                "-m",
                module,
                *arguments,
            ],  # -P: no code from the working directory
            log=self._logs / f"{name}.log",
            ready=ready,
            environment=self._environment(name) if is_server else {},
            inherits=(lambda variable: variable.upper() not in left_out) if is_server else reaches_gateways,
            forked_by=self._fork_server if is_server else None,
        )

    def _gateway(self) -> Part:
        path = self._folder / "gateway.sock"
        # Only this user can call the gateway.
        arguments = [
            "--listen",
            self.gateway,
            "--share-symbols",
            "symbols",
            "--allow-event",
            "*",
            "--allow-calibration",
        ]
        arguments += ["--metrics-listen", str(self._metrics_address("gateway"))]
        return self._part("gateway", "gateway", arguments, lambda: _listens(path))

    def _api(self) -> Part:
        return self._part(API, "services", [API], lambda: _answers(self.port, "/readyz"))

    def _worker(self) -> Part:
        return self._part(
            WORKER, "services", [WORKER], lambda: is_ok(self._metrics_address(WORKER), "/readyz")
        )

    def _collector(self) -> Part:
        # A live process is ready: the collector's first pass waits for machines to report their facts.
        return self._part(
            COLLECTOR, "services", [COLLECTOR], lambda: is_ok(self._metrics_address(COLLECTOR), "/healthz")
        )

    def _metrics_address(self, part: str) -> MetricsAddress:
        return metrics_address(self._settings.state_dir, part)


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
