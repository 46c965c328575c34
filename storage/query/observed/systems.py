"""The configuration of the machines during visits: governors, threads of cores (docs/events.md)."""

from collections.abc import Mapping

from sqlalchemy import Connection, func, select

from storage.query.observed.machines import MachineVisits
from storage.query.selections.selection import Selection
from storage.schema import capture_system, visit

SETTINGS = ("governor", "frequency_driver", "smt")


def read_settings(
    connection: Connection, selection: Selection, visits: MachineVisits
) -> Mapping[str, tuple[str, ...]]:
    """Each of `SETTINGS` in every visit; "" if it was not read."""
    c = capture_system.c
    columns = [func.coalesce(c[name], "").label(name) for name in SETTINGS]
    rows = connection.execute(
        select(c.visit_id, *columns)
        .join(visit, visit.c.visit_id == c.visit_id)
        .where(
            c.day >= selection.start.date(),
            c.day <= selection.end.date(),
            *visits.among,
        )
    ).all()
    found = {row.visit_id.bytes.rstrip(b"\0"): row for row in rows}
    known = [found.get(id_.rstrip(b"\0")) for id_ in visits.id.tolist()]
    return {name: tuple("" if row is None else getattr(row, name) for row in known) for name in SETTINGS}
