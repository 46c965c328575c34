"""What is true of a simulated fleet over a stretch of time: by summing the model, without drawing anything.

Demand is constant within a slot of five minutes, so the core-seconds of machine i in application a over [from, to) are
the sum of its cores over the slots times the seconds of each slot in the stretch. Shares of functions depend on the
application, the parity of its release, whether the machine is one of the few, the class of its utilisation and its
platform (`variants.Variant`); core-seconds are summed by these first, then multiplied by the shares of each.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from services.simulate.binaries import build_of
from services.simulate.calls import JIT, Function
from services.simulate.catalogue import APPLICATIONS
from services.simulate.draws import Floats
from services.simulate.fleet import PRESSURES, SLOT_S, Fleet, slot_of
from services.simulate.groups import version
from services.simulate.outcomes import Failures
from services.simulate.platforms import DATACENTERS, PLATFORMS, STRATA
from services.simulate.rates import units_per_core_second
from services.simulate.stacks import stack_table
from services.simulate.variants import Variant, shares
from symbolizer.demangle import demangle
from symbolizer.jit_names import parse

_CLASSES = len(PRESSURES) + 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """A selection of the truth; None means all."""

    start: float
    """Seconds since 1970 UTC."""
    end: float
    application: str | None = None
    version: str | None = None
    datacenter: str | None = None
    platform: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionTruth:
    """One function in the selection."""

    self_share: float
    """Of the selection's units, 0…1."""
    total_share: float
    machines: int
    """Machines on which it runs at some time, however little."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The selection as it is."""

    units: float
    """Of the event: nanoseconds of CPU for `cpu`."""
    core_seconds: float
    cores: float
    """CPUs busy on average."""
    machines: int
    """Machines of the fleet in the selected strata."""
    utilisation: float
    """Mean busy share over machines and time, of all that runs there."""
    answering: float
    """Mean chance that a visit is answered."""
    applications: Mapping[str, float]
    """Units by application."""
    versions: Mapping[tuple[str, str], float]
    """Units by application and version, of those that have one."""
    functions: Mapping[tuple[str, str], FunctionTruth] = field(repr=False)
    """By name and binary, as the table of functions has them."""


def truth(fleet: Fleet, wanted: Wanted, *, event: str = "cpu", failures: Failures | None = None) -> Truth:
    """The truth of a selection. Raises ValueError for an empty stretch or an unknown name or event."""
    if not wanted.end > wanted.start:
        raise ValueError("The stretch of time is empty.")
    machines = _machines(fleet, wanted)
    chosen = _applications(wanted)
    sums = _Sums(fleet, machines, chosen, wanted, failures or Failures())
    rates = np.array(
        [[units_per_core_second(event, APPLICATIONS[a], p) for p in range(len(PLATFORMS))] for a in chosen]
    )
    by_application: dict[str, float] = {}
    by_function: dict[tuple[str, str], list[float]] = {}
    seen: dict[tuple[str, str], np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
    for row, number in enumerate(chosen):
        application = APPLICATIONS[number]
        units = sums.core_seconds[row] * rates[row][None, None, None, :]  # odd, rare, pressure, platform
        if not units.sum():
            continue
        by_application[application.name] = float(units.sum())
        functions = stack_table(application, fleet.seed).functions
        names = [_named(function, number, fleet.seed) for function in functions]
        own, total = np.zeros(len(functions)), np.zeros(len(functions))
        runs = np.zeros((len(machines), len(functions)), np.bool_)
        for odd, rare, pressure, platform in np.argwhere(sums.core_seconds[row] > 0).tolist():
            share = shares(application, fleet.seed, Variant(bool(odd), bool(rare), pressure, platform))
            own += units[odd, rare, pressure, platform] * share.self
            total += units[odd, rare, pressure, platform] * share.total
            there = sums.seen[:, row, odd, rare, pressure] & (fleet.platform[machines] == platform)
            runs |= there[:, None] & (share.total > 0)[None, :]
        for index, name in enumerate(names):
            values = by_function.setdefault(name, [0.0, 0.0])
            values[0] += float(own[index])
            values[1] += float(total[index])
            seen[name] = runs[:, index] | seen.get(name, np.zeros(len(machines), np.bool_))
    units_in_all = sum(by_application.values())
    core_seconds = float(sums.core_seconds.sum())
    return Truth(
        units=units_in_all,
        core_seconds=core_seconds,
        cores=core_seconds / (wanted.end - wanted.start),
        machines=len(machines),
        utilisation=sums.utilisation,
        answering=sums.answering,
        applications=dict(sorted(by_application.items(), key=lambda item: -item[1])),
        versions={
            (APPLICATIONS[chosen[row]].name, version(release)): float((seconds * rates[row]).sum())
            for (row, release), seconds in sorted(sums.by_release.items())
            if APPLICATIONS[chosen[row]].release_days
        },
        functions={
            name: FunctionTruth(own / units_in_all, total / units_in_all, int(seen[name].sum()))
            for name, (own, total) in sorted(by_function.items(), key=lambda item: (-item[1][0], item[0]))
            if total > 0
        },
    )


class _Sums:
    """Core-seconds of some applications on some machines over a stretch of time."""

    def __init__(
        self,
        fleet: Fleet,
        machines: "np.ndarray[tuple[int], np.dtype[np.int64]]",
        chosen: list[int],
        wanted: Wanted,
        failures: Failures,
    ) -> None:
        rows, size = len(chosen), len(machines)
        self.core_seconds: Floats = np.zeros((rows, 2, 2, _CLASSES, len(PLATFORMS)))
        self.seen = np.zeros((size, rows, 2, 2, _CLASSES), np.bool_)
        self.by_release: dict[tuple[int, int], Floats] = {}
        platform = fleet.platform[machines][:, None]
        rare = fleet.runs_rare[machines][:, chosen].astype(np.int64)
        row, at = np.arange(rows)[None, :], np.arange(size)[:, None]
        busy = answering = passed = 0.0
        for slot in range(slot_of(wanted.start), slot_of(np.nextafter(wanted.end, -np.inf)) + 1):
            seconds = min(wanted.end, (slot + 1) * SLOT_S) - max(wanted.start, slot * SLOT_S)
            moment = fleet.at(slot, machines)
            release = moment.release[:, chosen]
            cores = moment.cores[:, chosen] * seconds
            if wanted.version is not None:
                cores = np.where(release == int(wanted.version.removeprefix("r")), cores, 0.0)
            where = (row, release % 2, rare, moment.pressure[:, None], platform)
            np.add.at(self.core_seconds, tuple(np.broadcast_to(index, cores.shape) for index in where), cores)
            at_all = cores > 0
            here = tuple(
                np.broadcast_to(index, cores.shape)[at_all]
                for index in (at, row, release % 2, rare, moment.pressure[:, None])
            )
            self.seen[here] = True
            for number in np.unique(release):
                per_platform = np.zeros((rows, len(PLATFORMS)))
                of_release = np.where(release == number, cores, 0.0)
                np.add.at(
                    per_platform,
                    (np.broadcast_to(row, cores.shape), np.broadcast_to(platform, cores.shape)),
                    of_release,
                )
                for r in np.flatnonzero(per_platform.sum(axis=1)).tolist():
                    key = (r, int(number))
                    self.by_release[key] = (
                        self.by_release.get(key, np.zeros(len(PLATFORMS))) + per_platform[r]
                    )
            busy += float(moment.utilisation.mean()) * seconds
            answering += float(failures.answering(moment.utilisation).mean()) * seconds
            passed += seconds
        self.utilisation = busy / passed
        self.answering = answering / passed


def _machines(fleet: Fleet, wanted: Wanted) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    chosen = [
        stratum
        for stratum, (datacenter, platform) in enumerate(STRATA[: fleet.strata])
        if wanted.datacenter in {None, DATACENTERS[datacenter]}
        and wanted.platform in {None, PLATFORMS[platform].name}
    ]
    if not chosen:
        raise ValueError("No stratum of the fleet has this datacenter and platform.")
    return np.flatnonzero(np.isin(fleet.stratum, chosen))


def _applications(wanted: Wanted) -> list[int]:
    chosen = [n for n, a in enumerate(APPLICATIONS) if wanted.application in {None, a.name}]
    if not chosen:
        raise ValueError(f"The simulated fleet has no application {wanted.application!r}.")
    return chosen


def _named(function: Function, application: int, seed: int) -> tuple[str, str]:
    """Name and binary as the store has them."""
    if function.image == JIT:
        known = parse(function.symbol)
        return known.name, known.file or "[jit]"
    build = build_of(function, APPLICATIONS[application], seed, 0, 0)
    assert build is not None
    return demangle(function.symbol), build.path.rpartition("/")[2]
