"""Where a simulated fleet under `fleetprof up` lives: beside the real data, never in it."""

from services.settings import Settings
from services.simulate.run import FleetPlan
from services.stack import Sampling

ROUND_S = 10.0
WINDOW_S = 1.0
"""As long as a collector believes of an answer that comes at once (`gateways.BELIEVED_S`)."""
VISITS_PER_ROUND = 30.0
"""Three a second: after a minute the hottest functions are known to a few percent of their size."""


def simulated(
    settings: Settings, machines: int, *, rate_hz: float | None, past_days: int = 0
) -> tuple[Settings, Sampling, FleetPlan]:
    """What `up` needs to show a made-up fleet: everything in a folder and servers of its own.

    Fleets of different sizes are different fleets: each has its past for itself. A database, broker or archive of the environment is left alone: it may hold what was really measured.
    """
    home = settings.state_dir / "simulated" / str(machines)
    own = settings.model_copy(
        update={
            "state_dir": home,
            "database_url": None,
            "redis_url": None,
            "archive_url": None,
            "symbol_cache_dir": None,
        }
    )
    sampling = Sampling(
        rate_hz=rate_hz, round_s=ROUND_S, window_s=WINDOW_S, visits_per_round=VISITS_PER_ROUND
    )
    return (
        own,
        sampling,
        FleetPlan(machines, sockets=home / "run" / "fleet", symbols=home / "binaries", past_days=past_days),
    )
