"""A simulated fleet as processes that the deployment starts, awaits, supervises and stops."""

import sys
from collections.abc import Callable
from pathlib import Path

from services.deployment.process_environment import reaches_gateways
from services.deployment.supervisor import Part
from services.errors import CannotStart
from simulation.fleet_plan import FleetPlan
from simulation.socket_paths import ready_mark, socket_of

_LONGEST_PATH = 107
"""Longest path of a Unix socket in bytes; see `collector.channel`."""


def parts(plan: FleetPlan, logs: Path) -> list[Part]:
    """The processes to run. Raises CannotStart if the folder's path is too long for sockets."""
    if len(socket_of(plan.sockets, plan.machines).removeprefix("unix:").encode()) > _LONGEST_PATH:
        raise CannotStart(
            f"The path {plan.sockets} is too long for sockets, whose paths have at most {_LONGEST_PATH} bytes: use a "
            "shorter one, such as /run/sim."
        )
    plan.sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
    plan.symbols.mkdir(mode=0o755, parents=True, exist_ok=True)
    shards = min(plan.processes, plan.machines)
    return [_part(plan, shard, shards, logs) for shard in range(shards)]


def _part(plan: FleetPlan, shard: int, shards: int, logs: Path) -> Part:
    mark = ready_mark(plan.sockets, shard)
    mark.unlink(missing_ok=True)
    ready: Callable[[], bool] = mark.exists
    return Part(
        name=f"simulated fleet {shard + 1}/{shards}",
        command=[
            sys.executable, "-P", "-m", "simulation.shard",
            "--machines", str(plan.machines), "--seed", str(plan.seed), "--strata", str(plan.strata),
            "--shard", str(shard), "--shards", str(shards),
            "--sockets", str(plan.sockets), "--symbols", str(plan.symbols),
            *(["--real-time"] if plan.real_time else []),
            *([] if plan.failures else ["--no-failures"]),
        ],
        log=logs / f"simulate-{shard}.log",
        ready=ready,
        inherits=reaches_gateways,
        ready_within_s=60.0,
    )  # fmt: skip
