"""Busy time and frequency of each logical CPU in the windows of visits (DIGEST A3, A4, D1)."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, Double, Integer, case, cast, func, select

from storage.arrays import Bool, Float, Int64
from storage.query.observed.machines import MachineVisits
from storage.query.selections.selection import Selection
from storage.schema import capture_cpu, visit
from storage.snapshots.copy_binary import read_fixed

_MAX_BYTES = 512 << 20
_NOT_KNOWN = -1


@dataclass(frozen=True, slots=True)
class LogicalCpus:
    """Columns over the logical CPUs of visits, visit by visit."""

    visit: Int64
    """Place in the `MachineVisits` that they were read for, ascending."""
    core: Int64
    """Lowest logical CPU of its core, equal for the core's threads; -1: unknown."""
    package: Int64
    """-1: unknown."""
    busy_s: Float
    """Time in user and kernel mode and in interrupts; without time stolen by a hypervisor or waiting for I/O."""
    window_s: Float
    """Accounted time: the length of the window in the kernel's ticks."""
    mhz: Float
    """NaN: not measured."""

    def __len__(self) -> int:
        return len(self.visit)

    def of(self, keep: Bool | Int64) -> "LogicalCpus":
        """Some of the CPUs."""
        return LogicalCpus(
            self.visit[keep],
            self.core[keep],
            self.package[keep],
            self.busy_s[keep],
            self.window_s[keep],
            self.mhz[keep],
        )


@dataclass(frozen=True, slots=True)
class Sockets:
    """Columns over the packages of visits, each once, in no order; CPUs of unknown packages count as one package."""

    visit: Int64
    """Place in the `MachineVisits` that they were read for."""
    cpus: Int64
    """Logical CPUs, at least 1."""
    busy: Float
    """Number of busy ones: the sum of their busy shares, as in `LogicalCpus`; a CPU without accounted time is idle."""


def read_cpus(connection: Connection, selection: Selection, visits: MachineVisits) -> LogicalCpus:
    """The logical CPUs of these visits. Raises `BadSelection` past 512 MiB."""
    c = capture_cpu.c
    rows = read_fixed(
        connection,
        select(
            c.visit_id,
            func.coalesce(c.core_cpu, _NOT_KNOWN).label("core"),
            func.coalesce(c.package, _NOT_KNOWN).label("package"),
            (c.user_ms + c.system_ms + c.irq_ms).label("busy"),
            (c.idle_ms + c.iowait_ms + c.steal_ms).label("rest"),
            func.coalesce(c.mhz, float(_NOT_KNOWN)).label("mhz"),
        )
        .join(visit, visit.c.visit_id == c.visit_id)
        .where(
            c.day >= selection.start.date(),
            c.day <= selection.end.date(),
            *visits.among,
        ),
        limit=_MAX_BYTES,
    )
    place = visits.places(rows.uuids("visit_id"))
    order = np.argsort(place, kind="stable")
    order = order[place[order] >= 0]
    busy, rest = rows.floats("busy")[order], rows.floats("rest")[order]
    mhz = rows.floats("mhz")[order]
    return LogicalCpus(
        visit=place[order],
        core=rows.ints("core")[order],
        package=rows.ints("package")[order],
        busy_s=busy / 1000,
        window_s=(busy + rest) / 1000,
        mhz=np.where(mhz > 0, mhz, np.nan),
    )


def read_sockets(connection: Connection, selection: Selection, visits: MachineVisits) -> Sockets:
    """The packages of these visits, summed by the database: a week of ten thousand machines has millions of CPUs.

    Raises `BadSelection` past 512 MiB.
    """
    c = capture_cpu.c
    # As floats: the sum of three counters near the end of their range would overflow.
    busy = cast(c.user_ms, Double) + c.system_ms + c.irq_ms
    window = busy + c.idle_ms + c.iowait_ms + c.steal_ms
    package = func.coalesce(c.package, _NOT_KNOWN)
    rows = read_fixed(
        connection,
        select(
            c.visit_id,
            cast(func.count(), Integer).label("cpus"),
            cast(func.sum(case((window > 0, busy / window), else_=0.0)), Double).label("busy"),
        )
        .join(visit, visit.c.visit_id == c.visit_id)
        .where(
            c.day >= selection.start.date(),
            c.day <= selection.end.date(),
            *visits.among,
        )
        .group_by(c.visit_id, package),
        limit=_MAX_BYTES,
    )
    place = visits.places(rows.uuids("visit_id"))
    there = place >= 0
    return Sockets(place[there], rows.ints("cpus")[there], rows.floats("busy")[there])
