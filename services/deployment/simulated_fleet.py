"""Where a simulated fleet under `fleetprof up` lives: beside the real data, never in it."""

from services.configuration.settings import Settings
from services.deployment.database_setup import Sampling
from simulation.fleet_plan import FleetPlan

ROUND_S = 10.0
WINDOW_S = 1.0
"""As long as a collector believes of an answer that comes at once (`gateways.BELIEVED_S`)."""
VISITS_PER_ROUND = 30.0
"""Three a second: after a minute the hottest functions are known to a few percent of their size."""

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
"""Settings that a made-up fleet shares with the real one: how much and how long, who may ask, and this machine's own
port for the API. A setting that is not here is not taken over: it may name where real data is kept or goes to."""


def simulated_deployment(
    settings: Settings, machines: int, *, rate_hz: float | None, past_days: int = 0
) -> tuple[Settings, Sampling, FleetPlan]:
    """What `up` needs to show a made-up fleet: everything in a folder and servers of its own.

    Fleets of different sizes are different fleets: each has its past for itself. Of the settings only those of `SHARED_SETTINGS`
    hold: a database, broker, archive or lake of the environment is left alone, since it may hold what was really
    measured, and nobody outside is asked or listened to.
    """
    home = settings.state_dir / "simulated" / str(machines)
    set_names = settings.model_fields_set & SHARED_SETTINGS
    # Not by the constructor: it would read the environment again.
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
