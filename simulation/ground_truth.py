"""True values of a simulated fleet over a time range: sums of the model, without random draws.

Demand is constant within a slot of five minutes. The core-seconds of machine i in application a over [from, to) are the
sum of its cores over the slots times the seconds of each slot in the range. Shares of functions depend on the
application, the parity of its release, whether the machine runs rare code, the class of its utilisation and its
platform (`variants.Variant`). Units are summed by these keys first, then multiplied by the shares of each.

Events that come with instructions are fewer under pressure (`contention`) and while both threads of a core are busy
(`threads`). Both vary with the programs in a window, so for these events the true value is an expectation over the
window's busy share, with the mix of applications at its mean: correct to half a percent, as a test checks. For all
other events it is exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from simulation.binaries import build_of
from simulation.calls import JIT, Function
from simulation.catalogue import APPLICATIONS, Application
from simulation.contention import busy_shares, mean_speed, slowdown
from simulation.fleet import PRESSURES, SLOT_S, Fleet, Moment, slot_of
from simulation.groups import version
from simulation.outcomes import Failures
from simulation.platforms import DATACENTERS, PLATFORMS, STRATA
from simulation.rates import MEMORY, OF_INSTRUCTIONS, units_per_core_second
from simulation.seeded_random import Floats, Indexes
from simulation.stack_table import stack_table
from simulation.variants import Variant, shares
from simulation.window import BUSY_CONCENTRATION
from symbolizer.demangle import demangle
from symbolizer.jit_names import parse

_CLASSES = len(PRESSURES) + 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """A selection of true values; None means all."""

    start: float
    """Seconds since 1970 UTC."""
    end: float
    application: str | None = None
    version: str | None = None
    datacenter: str | None = None
    platform: str | None = None
    alone: bool = False
    """Only machines that run a single service."""


@dataclass(frozen=True, slots=True)
class FunctionTruth:
    """One function in the selection."""

    self_share: float
    """Share of the selection's units, 0…1."""
    total_share: float
    machines: int
    """Machines on which it runs at any time, however little."""


@dataclass(frozen=True, slots=True)
class Truth:
    """True values of a selection."""

    units: float
    """Units of the event: nanoseconds of CPU for `cpu`."""
    core_seconds: float
    cores: float
    """CPUs busy on average."""
    machines: int
    """Machines of the fleet in the selected strata."""
    utilisation: float
    """Mean busy share over machines and time, of all programs."""
    answering: float
    """Mean probability that a visit succeeds."""
    applications: Mapping[str, float]
    """Units by application."""
    versions: Mapping[tuple[str, str], float]
    """Units by application and version, for applications with versions."""
    functions: Mapping[tuple[str, str], FunctionTruth] = field(repr=False)
    """By name and binary, as in the table of functions."""


def truth(fleet: Fleet, wanted: Wanted, *, event: str = "cpu", failures: Failures | None = None) -> Truth:
    """True values of a selection. Raises ValueError for an empty range or an unknown name or event."""
    if not wanted.end > wanted.start:
        raise ValueError("The time range is empty.")
    machines = machines_of(fleet, wanted)
    chosen = _applications(wanted)
    sums = _Sums(fleet, machines, chosen, wanted, event=event, failures=failures or Failures())
    by_application: dict[str, float] = {}
    by_function: dict[tuple[str, str], list[float]] = {}
    seen: dict[tuple[str, str], np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
    for row, number in enumerate(chosen):
        application = APPLICATIONS[number]
        units = sums.units[row]  # odd, rare, pressure, platform
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
            (APPLICATIONS[chosen[row]].name, version(release)): units
            for (row, release), units in sorted(sums.by_release.items())
            if APPLICATIONS[chosen[row]].release_days
        },
        functions={
            name: FunctionTruth(own / units_in_all, total / units_in_all, int(seen[name].sum()))
            for name, (own, total) in sorted(by_function.items(), key=lambda item: (-item[1][0], item[0]))
            if total > 0
        },
    )


def cycles_per_instruction(fleet: Fleet, wanted: Wanted) -> Mapping[str, float]:
    """CPI by application in the selection's mix of machines, neighbours and times; without neighbours if `alone`."""
    cycles, instructions = (
        truth(fleet, wanted, event=event).applications for event in ("cycles", "instructions")
    )
    return {name: cycles[name] / instructions[name] for name in cycles}


class _Sums:
    """Core-seconds and units of some applications on some machines over a time range."""

    def __init__(
        self,
        fleet: Fleet,
        machines: Indexes,
        chosen: list[int],
        wanted: Wanted,
        *,
        event: str,
        failures: Failures,
    ) -> None:
        rows, size = len(chosen), len(machines)
        self.core_seconds: Floats = np.zeros((rows, 2, 2, _CLASSES, len(PLATFORMS)))
        self.units: Floats = np.zeros_like(self.core_seconds)
        self.seen = np.zeros((size, rows, 2, 2, _CLASSES), np.bool_)
        self.by_release: dict[tuple[int, int], float] = {}
        rates = _rates(fleet, machines, chosen, event)
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
            units = cores * rates
            if event in OF_INSTRUCTIONS:
                units = units * _speed(fleet, machines, moment, chosen)
            where = (row, release % 2, rare, moment.pressure[:, None], platform)
            place = tuple(np.broadcast_to(index, cores.shape) for index in where)
            np.add.at(self.core_seconds, place, cores)
            np.add.at(self.units, place, units)
            at_all = cores > 0
            here = tuple(
                np.broadcast_to(index, cores.shape)[at_all]
                for index in (at, row, release % 2, rare, moment.pressure[:, None])
            )
            self.seen[here] = True
            for number in np.unique(release).tolist():
                of_release = np.where(release == number, units, 0.0).sum(axis=0)
                for r in np.flatnonzero(of_release).tolist():
                    self.by_release[r, number] = self.by_release.get((r, number), 0.0) + float(of_release[r])
            busy += float(moment.utilisation.mean()) * seconds
            answering += float(failures.answering(moment.utilisation).mean()) * seconds
            passed += seconds
        self.utilisation = busy / passed
        self.answering = answering / passed


def machines_of(fleet: Fleet, wanted: Wanted) -> Indexes:
    """The machines of a selection, including idle ones. Raises ValueError if there are none."""
    chosen = [
        stratum
        for stratum, (datacenter, platform) in enumerate(STRATA[: fleet.strata])
        if wanted.datacenter in {None, DATACENTERS[datacenter]}
        and wanted.platform in {None, PLATFORMS[platform].name}
    ]
    if not chosen:
        raise ValueError("No stratum of the fleet has this datacenter and platform.")
    found = np.flatnonzero(np.isin(fleet.stratum, chosen) & (fleet.is_dedicated | (not wanted.alone)))
    if not len(found):
        raise ValueError("No machine of the selection runs only one service.")
    return found


def _applications(wanted: Wanted) -> list[int]:
    chosen = [n for n, a in enumerate(APPLICATIONS) if wanted.application in {None, a.name}]
    if not chosen:
        raise ValueError(f"The simulated fleet has no application {wanted.application!r}.")
    return chosen


def _rates(fleet: Fleet, machines: Indexes, chosen: list[int], event: str) -> Floats:
    """(m, a) units per core-second without pressure."""
    kinds, kind = np.unique(
        np.stack([fleet.platform[machines], fleet.mhz[machines]]), axis=1, return_inverse=True
    )
    by_kind = np.array(
        [
            [units_per_core_second(event, APPLICATIONS[a], int(platform), mhz) for a in chosen]
            for platform, mhz in kinds.T.tolist()
        ]
    )
    return np.asarray(by_kind[kind.reshape(-1)])


def _speed(fleet: Fleet, machines: Indexes, moment: Moment, chosen: list[int]) -> Floats:
    """(m, a) instructions of applications beside all programs on their chips and cores, relative to those alone."""
    everything = list(range(len(APPLICATIONS)))
    chips = np.array([PLATFORMS[p].packages for p in fleet.platform[machines]])
    utilisation = moment.utilisation
    lines, read, written = (
        (moment.cores * _rates(fleet, machines, everything, name)).sum(axis=1) / chips / utilisation
        for name in ("l2-lines-in", *MEMORY)
    )  # with every CPU busy
    peak = np.array([PLATFORMS[p].peak_gbs for p in fleet.platform[machines]])[:, None]
    layouts = [fleet.layout(machine) for machine in machines.tolist()]
    coefficient = [PLATFORMS[p].overlap for p in fleet.platform[machines]]
    busy, _ = busy_shares(utilisation, BUSY_CONCENTRATION)
    # The same windows for every application: a core's threads slow down all applications alike.
    threads = np.stack([of.speed(b, oc) for of, b, oc in zip(layouts, busy, coefficient, strict=True)])
    return np.stack(
        [
            mean_speed(
                partial(
                    _slower, APPLICATIONS[a], lines[:, None], (read + written)[:, None] / 1e9, peak, threads
                ),
                utilisation,
                BUSY_CONCENTRATION,
            )
            for a in chosen
        ],
        axis=1,
    )


def _slower(  # noqa: PLR0917 - all but the last are bound
    application: Application, lines: Floats, gigabytes: Floats, peak: Floats, threads: Floats, busy: Floats
) -> Floats:
    return np.asarray(slowdown(application, lines * busy, gigabytes * busy, peak) / threads)


def _named(function: Function, application: int, seed: int) -> tuple[str, str]:
    """Name and binary as stored."""
    if function.image == JIT:
        known = parse(function.symbol)
        return known.name, known.file or "[jit]"
    build = build_of(function, APPLICATIONS[application], seed, 0, 0)
    assert build is not None
    return demangle(function.symbol), build.path.rpartition("/")[2]
