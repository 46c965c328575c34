"""The machines of the inventory with their latest visits, filtered, sorted and in pages."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, get_args

from sqlalchemy import (
    ColumnElement,
    Connection,
    exists,
    func,
    literal,
    or_,
    select,
    true,
)

from storage.machine_selection import labels_column
from storage.query.answers.machines import (
    MachineCounts,
    MachineRow,
    MachinesAnswer,
    MachineState,
)
from storage.query.shapes.machine_rows import (
    last_answered,
    last_told,
    members_of,
    read_machines,
    recent_visits,
    state_of,
)
from storage.query.store_reading import StoreReading
from storage.schema import machine

MOST: Final = 1000
"""Machines of a page."""
LONGEST_FIND: Final = 200


class MachineSort(StrEnum):
    """What machines are sorted by; unknown values are last in both orders."""

    NAME = "name"
    DATACENTER = "datacenter"
    PLATFORM = "platform"
    KERNEL = "kernel"
    CPUS = "cpus"
    LAST_VISIT = "last_visit"
    VISITS = "visits"
    FAILURES = "failures"
    BUSY_CORES = "busy_cores"
    UTILISATION = "utilisation"


@dataclass(frozen=True, slots=True)
class MachinesQuestion:
    """A page of the inventory."""

    find: str = ""
    """Text in the name, datacenter, cluster, platform, kernel or a label (`key=value`), regardless of case."""
    state: MachineState | None = None
    """None: all."""
    sort: MachineSort = MachineSort.NAME
    descending: bool = False
    limit: int = 100
    offset: int = 0

    def answer(self, reading: StoreReading) -> MachinesAnswer:
        """The machines. Raises `DatabaseError`."""
        connection = reading.connection
        found = self._in_order(connection)
        by_state = Counter(state for _, state in found)
        of_state = [id_ for id_, state in found if self.state is None or state == self.state]
        page = of_state[self.offset : self.offset + self.limit]
        rows = {row.machine_id: row for row in read_machines(connection, page)} if page else {}
        return MachinesAnswer(
            machines=tuple(MachineRow(**members_of(rows[id_])) for id_ in page),
            matching=len(of_state),
            counts=MachineCounts(
                all=len(found), **{state: by_state[state] for state in get_args(MachineState)}
            ),
        )

    def _in_order(self, connection: Connection) -> Sequence[tuple[int, MachineState]]:
        """Ids and states of the machines that match `find`, in the order of the answer."""
        recent, last, answered = recent_visits(connection), last_told(), last_answered()
        keys: dict[MachineSort, ColumnElement[Any]] = {
            MachineSort.NAME: machine.c.name,
            MachineSort.DATACENTER: machine.c.datacenter,
            MachineSort.PLATFORM: machine.c.platform,
            MachineSort.KERNEL: machine.c.kernel,
            MachineSort.CPUS: machine.c.logical_cpus,
            MachineSort.LAST_VISIT: last.c.drawn_at,
            MachineSort.VISITS: func.coalesce(recent.c.visits, 0),
            MachineSort.FAILURES: func.coalesce(recent.c.failures, 0),
            MachineSort.BUSY_CORES: answered.c.utilisation * machine.c.logical_cpus,
            MachineSort.UTILISATION: answered.c.utilisation,
        }
        key = keys[self.sort]
        tables = machine.outerjoin(last, true())
        if self.sort in {MachineSort.VISITS, MachineSort.FAILURES}:
            tables = tables.outerjoin(recent, recent.c.machine_id == machine.c.machine_id)
        if self.sort in {MachineSort.BUSY_CORES, MachineSort.UTILISATION}:
            tables = tables.outerjoin(answered, true())
        rows = connection.execute(
            select(machine.c.machine_id, state_of(last))
            .select_from(tables)
            .where(machine.c.removed_at.is_(None), *_matching(self.find))
            .order_by((key.desc() if self.descending else key.asc()).nulls_last(), machine.c.name)
        )
        return [(row[0], row[1]) for row in rows]


def _matching(find: str) -> list[ColumnElement[bool]]:
    if not find:
        return []
    fields = (machine.c.name, machine.c.datacenter, machine.c.cluster, machine.c.platform, machine.c.kernel)
    pairs = func.jsonb_each_text(labels_column()).table_valued("key", "value")
    label = pairs.c.key.concat("=").concat(pairs.c.value)
    of_labels = exists(select(literal(1)).select_from(pairs).where(label.icontains(find, autoescape=True)))
    return [or_(*(field.icontains(find, autoescape=True) for field in fields), of_labels)]
