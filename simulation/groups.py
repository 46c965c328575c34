"""Process groups of a simulated machine: containers, daemons, kernel threads, with their identities."""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Final

import numpy as np

from gateway.containers.placement import parse_cgroup
from gateway.process.identity import Identity
from simulation.binaries import executable_path
from simulation.catalogue import APPLICATIONS, Application, Kind
from simulation.fleet import Fleet
from simulation.runtimes import RUNTIMES
from simulation.seeded_random import uniform

_MOST_CONTAINERS: Final = 6
_MOST_THREADS: Final = 4
_VERSION: Final = "app.kubernetes.io/version"
_NAME: Final = "app.kubernetes.io/name"


@dataclass(frozen=True, slots=True)
class Group:
    """One process group of a machine."""

    application: int
    """Index into `catalogue.APPLICATIONS`."""
    share: float
    """Share of the application's load on this machine; the shares of one application sum to 1."""
    identity: Identity
    processes: int


@lru_cache(maxsize=1024)
def groups_of(fleet: Fleet, machine: int) -> tuple[Group, ...]:
    """The process groups of a machine, busy or not."""
    found: list[Group] = []
    for index in np.flatnonzero(fleet.base[machine] > 0).tolist():
        application = APPLICATIONS[index]
        most = {Kind.SERVICE: _MOST_CONTAINERS, Kind.DAEMON: 1, Kind.KERNEL: _MOST_THREADS}[application.kind]
        draw = uniform(fleet.seed, "groups", machine, index, np.arange(most + 1))
        count = 1 + int(draw[0] * most)
        sizes = 0.2 + draw[1 : count + 1]
        for number, size in enumerate(sizes.tolist()):
            found.append(
                Group(
                    index,
                    size / float(sizes.sum()),
                    _identity(fleet, machine, application, number),
                    1 + number % 3,
                )
            )
    return tuple(found)


def labels(application: Application, release: int) -> tuple[tuple[str, str], ...]:
    """The orchestrator's labels of a container of the application."""
    if application.kind is not Kind.SERVICE:
        return ()
    return (_NAME, application.name), (_VERSION, version(release))


def version(release: int) -> str:
    """Name of a release."""
    return f"r{release}"


def _identity(fleet: Fleet, machine: int, application: Application, number: int) -> Identity:
    if application.kind is Kind.KERNEL:
        cpu = int(uniform(fleet.seed, f"cpu of {application.name}", machine, number) * fleet.cpus[machine])
        comm = {"kworker": f"kworker/{cpu}:{number}", "rcu_preempt": "rcu_preempt", "kswapd": f"kswapd{number % 2}",
                "jbd2": f"jbd2/nvme{number}n1p2-8"}.get(application.program, f"{application.program}/{cpu}")  # fmt: skip
        return Identity(comm, "", "", "", "", "", kernel_thread=True)
    exe = executable_path(application, fleet.seed)
    comm = exe.rpartition("/")[2][:15]
    if application.kind is Kind.DAEMON:
        cgroup = f"/system.slice/{application.name}.service"
        return Identity(comm, exe, "", cgroup, "", parse_cgroup(cgroup).unit, kernel_thread=False)
    container = sha256(f"{fleet.seed}/{machine}/{application.name}/{number}".encode()).hexdigest()
    cgroup = f"/kubepods.slice/kubepods-burstable.slice/cri-containerd-{container}.scope"
    script = (
        application.name if application.program in RUNTIMES and RUNTIMES[application.program].image else ""
    )
    placement = parse_cgroup(cgroup)
    return Identity(comm, exe, script, cgroup, placement.container, placement.unit, kernel_thread=False)
