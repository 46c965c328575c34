"""Sums over the logical CPUs of each visit's machine, for models that need no single CPUs (DIGEST D1, G29, I1)."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, Double, Integer, and_, case, cast, func, select

from storage.arrays import Bool, Float, Int64
from storage.query.observed.machines import MachineVisits
from storage.query.selections.selection import Selection
from storage.schema import capture_cpu, visit
from storage.snapshots.copy_binary import read_fixed

_MAX_BYTES = 256 << 20
_NOT_KNOWN = -1


@dataclass(frozen=True, slots=True)
class MachineCpus:
    """Columns over visits; without logical CPUs all are 0, and the frequency is NaN."""

    cpus: Int64
    """Logical CPUs."""
    placed: Bool
    """The socket of every logical CPU is known."""
    one_socket: Bool
    """All known sockets are the same."""
    busy_s: Float
    """Sum of time in user and kernel mode and in interrupts; without time stolen by a hypervisor or waiting for I/O."""
    accounted_s: Float
    """Sum over the CPUs of the window's length in the kernel's ticks."""
    hertz: Float
    """Mean frequency of CPUs with a measured frequency, weighted by busy time; NaN: none was measured."""

    @property
    def window_s(self) -> Float:
        """Length of the window, a mean over the CPUs."""
        return np.divide(self.accounted_s, self.cpus, out=np.zeros(len(self.cpus)), where=self.cpus > 0)


def read_machine_cpus(connection: Connection, selection: Selection, visits: MachineVisits) -> MachineCpus:
    """The CPUs of these visits, summed by the database: a week of ten thousand machines has thirteen million of them.

    Raises `BadSelection` past 256 MiB of sums, at a hundred bytes per visit.
    """
    c = capture_cpu.c
    # As floats: the sum of counters near the end of their range would overflow.
    busy = cast(c.user_ms, Double) + c.system_ms + c.irq_ms
    measured = and_(c.mhz > 0, c.mhz < float("inf"))  # PostgreSQL sorts NaN above all numbers
    rows = read_fixed(
        connection,
        select(
            c.visit_id,
            cast(func.count(), Integer).label("cpus"),
            cast(func.count(case((c.package >= 0, c.package))), Integer).label("placed"),
            func.coalesce(func.min(c.package), _NOT_KNOWN).label("first"),
            func.coalesce(func.max(c.package), _NOT_KNOWN).label("last"),
            func.sum(busy).label("busy"),
            func.sum(busy + c.idle_ms + c.iowait_ms + c.steal_ms).label("accounted"),
            func.sum(case((measured, busy), else_=0.0)).label("clocked"),
            func.sum(case((measured, busy * c.mhz), else_=0.0)).label("cycles"),
        )
        .join(visit, visit.c.visit_id == c.visit_id)
        .where(
            c.day >= selection.start.date(),
            c.day <= selection.end.date(),
            *visits.among,
        )
        .group_by(c.visit_id),
        limit=_MAX_BYTES,
    )
    place = visits.places(rows.uuids("visit_id"))
    there = place >= 0
    at, size = place[there], len(visits)

    def column(name: str) -> Float:
        of = np.zeros(size)
        of[at] = rows.floats(name)[there]
        return of

    cpus, clocked = column("cpus").astype(np.int64), column("clocked")
    return MachineCpus(
        cpus=cpus,
        placed=(cpus > 0) & (column("placed") == cpus),
        one_socket=(cpus > 0) & (column("first") == column("last")),
        busy_s=column("busy") / 1000,
        accounted_s=column("accounted") / 1000,
        # MHz and milliseconds.
        hertz=np.divide(column("cycles") * 1e6, clocked, out=np.full(size, np.nan), where=clocked > 0),
    )
