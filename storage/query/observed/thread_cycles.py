"""Unhalted cycles of threads and cores in each visit, and the frequency at which they ran (DIGEST A2).

`cycles` counts by thread. Intel counts the cycles of a core, in which at least one of its threads was busy, in two
ways. `cycles-any` counts them on both threads, so its sum over a machine is twice that of the cores.
`cycles-distributed` divides them among the threads, so its sum is that of the cores (docs/events.md). Cycles become
shares of time by the frequency of busy threads, which is never assumed to be the nominal one:

1. `cycles` ÷ `ref-cycles`, else `aperf` ÷ `mperf`, times the rate of the time stamp counter, at which references tick:
   `tsc` if it was counted, else the nominal frequency, which differs on some machines (a base frequency below the
   processor's own);
2. else the mean of the frequencies that the machine reported, weighted by its CPUs' busy time; these are a few
   readings.

`storage.query.models.machine_loads` compares the result with the utilisation by times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, case, func, select

from analysis.smt.states import SKEW
from storage.arrays import Bool, Float, Int64, weight_at
from storage.query.observed.cpus import LogicalCpus
from storage.query.observed.machines import MachineVisits
from storage.query.selections.selection import Selection
from storage.schema import capture_counter, capture_system, visit
from storage.snapshots.copy_binary import read_fixed

THREADS, ANY, DISTRIBUTED = "cycles", "cycles-any", "cycles-distributed"
NAMES = (THREADS, ANY, DISTRIBUTED, "ref-cycles", "aperf", "mperf", "tsc")
_MAX_BYTES = 256 << 20
_NOT_KNOWN = -1.0
_SKEW_OF_GLANCES = 0.05
"""Error of a frequency from a few readings, as a share of the available cycles."""


@dataclass(frozen=True, slots=True)
class ThreadCycles:
    """Columns over visits."""

    threads: Float
    """Unhalted cycles of all threads; NaN, as for the next ones: not counted."""
    either: Float
    """Cycles of all cores with any thread busy, if every core has two threads."""
    per_core: Float
    """Cycles available to one core."""
    cpus: Int64
    """Counted logical CPUs; 0: the capture does not record it."""
    skew: Float
    """Share of the available cycles by which the other columns may contradict each other."""
    why: npt.NDArray[np.str_]
    """The missing input; "": none."""

    def of(self, keep: Bool | Int64) -> "ThreadCycles":
        """Those of some of the visits."""
        return ThreadCycles(
            self.threads[keep],
            self.either[keep],
            self.per_core[keep],
            self.cpus[keep],
            self.skew[keep],
            self.why[keep],
        )


@dataclass(frozen=True, slots=True)
class Counted:
    """One counter in each visit."""

    sum: Float
    """Sum over the whole machine; NaN: not counted, or incomplete."""
    cpus: Int64
    """Counted logical CPUs; 0: the capture does not record it."""
    seconds: Float
    """Seconds for which it was enabled on each CPU."""


def read_thread_cycles(
    connection: Connection, selection: Selection, visits: MachineVisits, cpus: LogicalCpus
) -> ThreadCycles:
    """The cycles of these visits. Raises `BadSelection` past 256 MiB of counters."""
    found = dict(zip(NAMES, _read(connection, selection, visits, NAMES), strict=True))
    return combined(found, _nominal_hz(connection, selection, visits), cpus)


def combined(found: Mapping[str, Counted], nominal_hz: Float, cpus: LogicalCpus) -> ThreadCycles:
    """Combines the counters in `NAMES`, the nominal frequency (NaN: unknown) and the logical CPUs of the visits."""
    visits = len(nominal_hz)
    threads, any_, shared = (found[name] for name in (THREADS, ANY, DISTRIBUTED))
    either = np.where(np.isfinite(any_.sum), any_.sum / 2, shared.sum)
    counted = np.where(np.isfinite(any_.sum), any_.cpus, shared.cpus)
    with np.errstate(divide="ignore", invalid="ignore"):
        ticks = found["tsc"].sum / (found["tsc"].seconds * np.maximum(found["tsc"].cpus, 1))
        reference = np.where(ticks > 0, ticks, nominal_hz)
        by_cycles = threads.sum / found["ref-cycles"].sum
        by_registers = found["aperf"].sum / found["mperf"].sum
        factor = np.where(np.isfinite(by_cycles), by_cycles, by_registers)
        measured = factor * reference
    # Without cycles there is no frequency; shares of 0 are the same at any frequency.
    measured = np.where(measured > 0, measured, np.where(threads.sum == 0, reference, np.nan))
    seen = _seen_hz(cpus, visits)
    hertz = np.where(np.isfinite(measured), measured, seen)
    why = np.full(visits, "", "U90")
    for reason, lacking in (
        (f"{THREADS} were not counted", ~np.isfinite(threads.sum)),
        (f"neither {ANY} nor {DISTRIBUTED} was counted", ~np.isfinite(either)),
        (f"{THREADS} and the cycles of cores were counted on different CPUs", threads.cpus != counted),
        ("the frequency of its busy threads is unknown", ~(hertz > 0) | ~(threads.seconds > 0)),
    ):
        why[lacking & (why == "")] = reason
    return ThreadCycles(
        threads=threads.sum,
        either=either,
        per_core=hertz * threads.seconds,
        cpus=threads.cpus,
        skew=np.where(np.isfinite(measured), SKEW, _SKEW_OF_GLANCES),
        why=why,
    )


def _read(
    connection: Connection, selection: Selection, visits: MachineVisits, names: Sequence[str]
) -> list[Counted]:
    """Counters of whole machines, summed over sockets; a counter that failed on a socket has no sum."""
    c = capture_counter.c
    rows = read_fixed(
        connection,
        select(
            c.visit_id,
            case({name: place for place, name in enumerate(names)}, value=c.name, else_=0).label("name"),
            func.coalesce(c.scaled, _NOT_KNOWN).label("scaled"),
            c.cpus,
            c.time_enabled_ns,
        )
        .join(visit, visit.c.visit_id == c.visit_id)
        .where(
            c.day >= selection.start.date(),
            c.day <= selection.end.date(),
            *visits.among,
            c.name.in_(tuple(names)),
            c.application == 0,
            c.cgroup == "",
        ),
        limit=_MAX_BYTES,
    )
    place = visits.places(rows.uuids("visit_id"))
    name, scaled = rows.ints("name"), rows.floats("scaled")
    cpus, enabled = rows.ints("cpus"), rows.floats("time_enabled_ns") / 1e9
    found = []
    for number in range(len(names)):
        here = (name == number) & (place >= 0)
        at = place[here]
        total = np.full(len(visits), np.nan)
        total[at] = 0.0
        np.add.at(total, at, np.where(scaled[here] >= 0, scaled[here], np.nan))
        # A reading without CPUs is one of the whole machine.
        readings = weight_at(at, np.maximum(cpus[here], 1).astype(np.float64), len(visits))
        seconds = weight_at(at, enabled[here], len(visits))
        found.append(
            Counted(
                total,
                weight_at(at, cpus[here].astype(np.float64), len(visits)).astype(np.int64),
                np.divide(seconds, readings, out=np.full(len(visits), np.nan), where=readings > 0),
            )
        )
    return found


def _nominal_hz(connection: Connection, selection: Selection, visits: MachineVisits) -> Float:
    c = capture_system.c
    rows = read_fixed(
        connection,
        select(c.visit_id, func.coalesce(c.nominal_mhz, _NOT_KNOWN).label("mhz"))
        .join(visit, visit.c.visit_id == c.visit_id)
        .where(c.day >= selection.start.date(), c.day <= selection.end.date(), *visits.among),
        limit=_MAX_BYTES,
    )
    place = visits.places(rows.uuids("visit_id"))
    there = place >= 0
    mhz = rows.floats("mhz")[there]
    hertz = np.full(len(visits), np.nan)
    hertz[place[there]] = np.where(mhz > 0, mhz * 1e6, np.nan)
    return hertz


def _seen_hz(cpus: LogicalCpus, visits: int) -> Float:
    """The mean of reported frequencies by busy time; NaN: a busy CPU has none."""
    busy = weight_at(cpus.visit, cpus.busy_s, visits)
    cycles = weight_at(cpus.visit, np.where(cpus.busy_s > 0, cpus.busy_s * cpus.mhz, 0.0), visits) * 1e6
    hertz: Float = np.divide(cycles, busy, out=np.full(visits, np.nan), where=busy > 0)
    return hertz
