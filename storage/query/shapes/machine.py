"""One machine of the inventory: its system, its latest visits and its failures."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection, func, select

from storage.query.answers.machines import (
    EventSupport,
    MachineAnswer,
    MachineFailure,
    SystemFacts,
    SystemLoad,
)
from storage.query.selections.times import format_time
from storage.query.shapes.machine_rows import RECENT, members_of, read_machines, since
from storage.query.shapes.named_machine import find_machine
from storage.query.shapes.visits import read_visits, visit_row
from storage.query.store_reading import StoreReading
from storage.schema import FAILURES, capture_system, visit

_VISITS: Final = 20
_FAILURES: Final = 20
_WEEK: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class MachineQuestion:
    """The machine of this name."""

    name: str

    def answer(self, reading: StoreReading) -> MachineAnswer:
        """The machine. Raises `UnknownMachine`, with similar names."""
        connection = reading.connection
        machine_id = find_machine(connection, self.name)
        (row,) = read_machines(connection, [machine_id])
        described = row.described or {}
        latest = (
            select(visit.c.visit_id)
            .where(visit.c.machine_id == machine_id)
            .order_by(visit.c.drawn_at.desc())
            .limit(_VISITS)
        )
        return MachineAnswer(
            **members_of(row),
            address=row.address,
            added_at=format_time(row.added_at),
            described_at=None if row.described_at is None else format_time(row.described_at),
            system=SystemFacts(
                **{
                    name: str(described.get(name, ""))
                    for name in ("hostname", "os", "kernel_version", "virtualization", "microcode", "smt")
                },
                packages=row.packages,
                cores=row.cores,
                threads_per_core=row.threads_per_core,
                memory_bytes=row.memory_bytes,
                nominal_mhz=row.nominal_mhz,
                numa_nodes=described.get("numa_nodes"),
                hardware_min_mhz=described.get("hardware_min_mhz"),
                hardware_max_mhz=described.get("hardware_max_mhz"),
            ),
            load=_load(connection, machine_id),
            events=tuple(map(_support, described.get("events", ()))),
            outcomes_last_day=_outcomes(connection, machine_id, RECENT),
            outcomes_last_week=_outcomes(connection, machine_id, _WEEK),
            failures=_failures(connection, machine_id),
            visits=tuple(map(visit_row, read_visits(connection, latest))),
        )


def _support(event: Mapping[str, Any]) -> EventSupport:
    supported = event.get("support") == "SUPPORT_OK"
    return EventSupport(
        event=event.get("event", ""),
        use="none" if not supported else "counted" if event.get("counts_only") else "sampled",
        source=event.get("source", ""),
    )


def _load(connection: Connection, machine_id: int) -> SystemLoad | None:
    c = capture_system.c
    row = connection.execute(
        select(visit.c.drawn_at, capture_system)
        .join(capture_system, c.visit_id == visit.c.visit_id)
        .where(visit.c.machine_id == machine_id)
        .order_by(visit.c.drawn_at.desc())
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    return SystemLoad(
        planned_at=format_time(row.drawn_at),
        load_1=row.load_1,
        load_5=row.load_5,
        load_15=row.load_15,
        tasks=row.tasks,
        memory_available_bytes=row.memory_available_bytes,
        swap_used_bytes=row.swap_used_bytes,
        governor=row.governor,
    )


def _outcomes(connection: Connection, machine_id: int, length: timedelta) -> dict[str, int]:
    rows = connection.execute(
        select(visit.c.outcome, func.count())
        .where(visit.c.machine_id == machine_id, visit.c.drawn_at >= since(connection, length))
        .group_by(visit.c.outcome)
        .order_by(func.count().desc(), visit.c.outcome)
    )
    return dict(tuple(row) for row in rows)


def _failures(connection: Connection, machine_id: int) -> tuple[MachineFailure, ...]:
    count, latest = func.count(), func.max(visit.c.drawn_at)
    rows = connection.execute(
        select(visit.c.outcome, visit.c.detail, count, latest)
        .where(
            visit.c.machine_id == machine_id,
            visit.c.drawn_at >= since(connection, _WEEK),
            visit.c.outcome.in_(FAILURES),
        )
        .group_by(visit.c.outcome, visit.c.detail)
        .order_by(count.desc(), latest.desc())
        .limit(_FAILURES)
    )
    return tuple(
        MachineFailure(outcome=outcome, detail=detail, visits=visits, latest=format_time(at))
        for outcome, detail, visits, at in rows
    )
