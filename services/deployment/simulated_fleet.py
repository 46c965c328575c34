"""Location of a simulated fleet under `fleetprof up`: beside the real data, never in it."""

from services.configuration.settings import Settings
from services.deployment.database_setup import Sampling
from simulation.fleet_plan import FleetPlan

ROUND_S = 10.0
WINDOW_S = 1.0
"""Longest window that a collector accepts from an immediate response (`gateways.BELIEVED_S`)."""
VISITS_PER_ROUND = 30.0
"""Three a second: one minute suffices to estimate the hottest functions within a few percent of their size."""

SHARED_SETTINGS = frozenset(
    {
        "response_cache_bytes",
        "response_cache_ttl",
        "api_allowed_hosts",
        "api_connections",
        "api_connections_per_address",
        "api_port",
        "api_tokens",
        "cell_retention_days",
        "collector_stack_cache_bytes",
        "concurrent_inspections",
        "concurrent_visits",
        "decoded_cache_bytes",
        "lake_memory_bytes",
        "lake_retention_days",
        "price_per_core_hour",
        "query_bytes",
        "query_seconds",
        "retention_days",
        "session_secret_file",
        "symbol_requests_per_hour",
        "symbol_cache_bytes",
        "symbol_copies_bytes",
        "symbol_download_bytes",
        "source_copies_bytes",
        "source_fetches_per_hour",
        "symbol_retention_days",
        "symbol_upload_bytes",
        "worker_memory_bytes",
        "worker_partitions",
        "worker_processes",
        "worker_id_cache_bytes",
    }
)
"""Settings that a simulated fleet shares with the real one: amounts and durations, access, and this machine's API port.
No other setting is taken over, because it may name where real data is stored or sent."""


def simulated_deployment(
    settings: Settings, machines: int, *, rate_hz: float | None, past_days: int = 0
) -> tuple[Settings, Sampling, FleetPlan]:
    """Settings and plan of a simulated fleet for `up`, with its own folder and servers.

    Each fleet size is a fleet of its own with its own past. Only the settings in `SHARED_SETTINGS` apply: a database,
    broker, archive or lake of the environment is not used, since it may hold real measurements, and no remote host is
    contacted or served.
    """
    home = settings.state_dir / "simulated" / str(machines)
    set_names = settings.model_fields_set & SHARED_SETTINGS
    # Not by the constructor, which would read the environment again.
    own = Settings.model_construct(
        {"state_dir", *set_names}, state_dir=home, **{name: getattr(settings, name) for name in set_names}
    )
    sampling = Sampling(
        rate_hz=rate_hz, round_s=ROUND_S, window_s=WINDOW_S, visits_per_round=VISITS_PER_ROUND
    )
    return (
        own,
        sampling,
        FleetPlan(machines, sockets=home / "run" / "fleet", symbols=home / "binaries", past_days=past_days),
    )
