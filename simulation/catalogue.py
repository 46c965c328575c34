"""Programs of the simulated fleet: services in order of size, daemons of every machine, kernel threads."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from simulation.kernel_calls import THREADS


class Rhythm(IntEnum):
    """How demand varies with the time of day."""

    DAY = 0
    """Demand of users: highest in the afternoon, lower at weekends."""
    NIGHT = 1
    """Batch work at night."""
    FLAT = 2


class Kind(IntEnum):
    """Role of an application on its machines."""

    SERVICE = 0
    """In containers, with a version, on some machines."""
    DAEMON = 1
    """A systemd unit on every machine."""
    KERNEL = 2
    """A family of kernel threads on every machine."""


@dataclass(frozen=True, slots=True)
class Application:
    """One application of the fleet."""

    name: str
    """Value of the label `application`."""
    program: str
    """A runtime of `runtimes.RUNTIMES`, an executable of `servers.SERVERS` or `recorded_stacks.RECORDINGS`, or a family
    of kernel threads."""
    kind: Kind = Kind.SERVICE
    rhythm: Rhythm = Rhythm.FLAT
    spread: float = 1.0
    """Share of machines that run it, 0…1."""
    release_days: float = 0.0
    """Days between releases; 0: it has no releases."""
    rollout: float = 0.5
    """Part of that time in which a release spreads from the first machine to the last, 0…1."""
    regression: float = 1.0
    """Factor on one function's cost in every odd release."""
    cpi: float = 1.0
    """Cycles per instruction on a machine of platform factor 1."""
    misses: float = 2.0
    """Last-level cache misses per thousand instructions."""

    @property
    def binary(self) -> str:
        """Base name of its own executable, unless it runs in an interpreter."""
        if self.program in _OWN_NAMES:
            return self.program
        return self.name


_OWN_NAMES: Final = frozenset({"nginx", "postgres", "redis-server", "memcached"})

SERVICES: Final = (
    Application("search-ranker", "cpp", rhythm=Rhythm.DAY, spread=0.42, release_days=7, cpi=0.8, misses=4.0),
    Application("checkout", "go", rhythm=Rhythm.DAY, spread=0.36, release_days=2, rollout=0.9, regression=2.5, cpi=1.1),
    Application("edge-proxy", "nginx", rhythm=Rhythm.DAY, spread=0.50, release_days=14, cpi=0.9, misses=1.0),
    Application("orders-db", "postgres", rhythm=Rhythm.DAY, spread=0.22, release_days=30, cpi=1.6, misses=9.0),
    Application("feed", "java", rhythm=Rhythm.DAY, spread=0.30, release_days=5, cpi=1.2, misses=5.0),
    Application("video-transcode", "cpp", rhythm=Rhythm.NIGHT, spread=0.12, release_days=10, cpi=0.6, misses=1.5),
    Application("recommender", "python", rhythm=Rhythm.DAY, spread=0.24, release_days=3, regression=1.6, cpi=0.7, misses=2.0),
    Application("ads-auction", "cpp", rhythm=Rhythm.DAY, spread=0.20, release_days=4, regression=1.3, cpi=0.9, misses=6.0),
    Application("session-cache", "redis-server", rhythm=Rhythm.DAY, spread=0.26, release_days=60, cpi=1.8, misses=12.0),
    Application("spark-executor", "java", rhythm=Rhythm.NIGHT, spread=0.18, release_days=21, cpi=1.0, misses=7.0),
    Application("pricing", "go", rhythm=Rhythm.DAY, spread=0.22, release_days=3, cpi=1.0, misses=3.0),
    Application("web-frontend", "node", rhythm=Rhythm.DAY, spread=0.28, release_days=1, rollout=0.3, cpi=1.3, misses=4.0),
    Application("fraud-detection", "java", rhythm=Rhythm.DAY, spread=0.14, release_days=6, cpi=1.1, misses=5.0),
    Application("metrics-ingest", "go", spread=0.16, release_days=4, cpi=1.2, misses=4.0),
    Application("log-shipper", "rust", spread=0.60, release_days=12, cpi=0.8, misses=2.0),
    Application("auth", "go", rhythm=Rhythm.DAY, spread=0.18, release_days=5, cpi=0.9),
    Application("kafka-broker", "java", spread=0.10, release_days=45, cpi=1.4, misses=6.0),
    Application("image-resizer", "cpp", rhythm=Rhythm.DAY, spread=0.12, release_days=9, cpi=0.7),
    Application("object-cache", "memcached", rhythm=Rhythm.DAY, spread=0.16, release_days=60, cpi=2.0, misses=14.0),
    Application("etl", "python", rhythm=Rhythm.NIGHT, spread=0.14, release_days=2, cpi=0.9, misses=3.0),
    Application("geo-index", "rust", rhythm=Rhythm.DAY, spread=0.10, release_days=8, cpi=1.2, misses=8.0),
    Application("notifications", "node", rhythm=Rhythm.DAY, spread=0.12, release_days=3, cpi=1.3),
    Application("inventory", "go", rhythm=Rhythm.DAY, spread=0.10, release_days=5, cpi=1.1),
    Application("billing", "java", rhythm=Rhythm.NIGHT, spread=0.06, release_days=14, cpi=1.1),
    Application("chat", "node", rhythm=Rhythm.DAY, spread=0.08, release_days=2, cpi=1.2),
    Application("mail-gateway", "python", spread=0.05, release_days=10, cpi=1.0),
    Application("thumbnailer", "rust", rhythm=Rhythm.NIGHT, spread=0.04, release_days=7, cpi=0.7),
    Application("canary-probe", "go", spread=0.02, release_days=1, cpi=1.0),
)  # fmt: skip
"""In order of their share of the fleet's CPU, which follows Zipf's law."""

DAEMONS: Final = tuple(
    Application(name, program, Kind.DAEMON)
    for name, program in (
        ("kubelet", "go"), ("containerd", "go"), ("node_exporter", "go"), ("systemd-journald", "c"),
        ("systemd", "c"), ("sshd", "c"), ("chronyd", "c"), ("dbus-daemon", "c"), ("rsyslogd", "c"),
        ("systemd-udevd", "c"), ("irqbalance", "c"), ("fluent-bit", "c"),
    )
)  # fmt: skip

THREAD_FAMILIES: Final = tuple(Application(f"[{family}]", family, Kind.KERNEL) for family in THREADS)

APPLICATIONS: Final = SERVICES + DAEMONS + THREAD_FAMILIES
