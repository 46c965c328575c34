"""The machines of the inventory with their latest visits, filtered, sorted and in pages."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, get_args

from sqlalchemy import (
    CTE,
    ColumnElement,
    Connection,
    Row,
    Select,
    case,
    exists,
    func,
    literal,
    or_,
    select,
    true,
)
from sqlalchemy.sql.selectable import LateralFromClause

from storage.machine_selection import labels_column
from storage.query.answers.machines import (
    LastVisit,
    MachineCounts,
    MachineRow,
    MachinesAnswer,
    MachineState,
)
from storage.query.selections.times import format_time
from storage.query.store_reading import StoreReading
from storage.schema import FAILURES, Outcome, campaign, machine, visit

MOST: Final = 1000
"""Machines of a page."""
LONGEST_FIND: Final = 200
RECENT: Final = timedelta(days=1)
_UNTOLD: Final = (Outcome.DRAWN, Outcome.LOST)
"""Outcomes that tell nothing about the machine."""


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
        recent, last, answered = _recent(connection), _last_told(), _last_answered()
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
            select(machine.c.machine_id, _state(last))
            .select_from(tables)
            .where(machine.c.removed_at.is_(None), *_matching(self.find))
            .order_by((key.desc() if self.descending else key.asc()).nulls_last(), machine.c.name)
        )
        return [(row[0], row[1]) for row in rows]


def read_machines(connection: Connection, ids: Sequence[int]) -> Sequence[Row[Any]]:
    """The machines of these ids, unordered, with the columns that `members_of` needs."""
    recent, last, answered = _recent(connection, ids), _last_told(), _last_answered()
    return connection.execute(
        select(
            machine,
            labels_column().label("all_labels"),
            _state(last).label("state"),
            last.c.visit_id.label("last_id"),
            campaign.c.name.label("last_campaign"),
            last.c.drawn_at.label("last_at"),
            last.c.outcome.label("last_outcome"),
            last.c.detail.label("last_detail"),
            func.coalesce(recent.c.visits, 0).label("visits"),
            func.coalesce(recent.c.failures, 0).label("failures"),
            answered.c.drawn_at.label("answered_at"),
            answered.c.utilisation,
        )
        .select_from(
            machine.outerjoin(last, true())
            .outerjoin(campaign, campaign.c.campaign_id == last.c.campaign_id)
            .outerjoin(recent, recent.c.machine_id == machine.c.machine_id)
            .outerjoin(answered, true())
        )
        .where(machine.c.machine_id.in_(ids))
    ).all()


def members_of(row: Row[Any]) -> dict[str, Any]:
    """The members of `MachineRow` of a row of `read_machines`."""
    utilisation = None if row.utilisation is None else min(row.utilisation, 1.0)
    known = utilisation is not None and row.logical_cpus is not None
    return {
        "name": row.name,
        "datacenter": row.datacenter,
        "cluster": row.cluster,
        "platform": row.platform,
        "architecture": row.architecture,
        "kernel": row.kernel,
        "labels": {name: str(value) for name, value in sorted(row.all_labels.items())},
        "logical_cpus": row.logical_cpus,
        "enabled": row.enabled,
        "state": row.state,
        "last_visit": None
        if row.last_id is None
        else LastVisit(
            visit_id=str(row.last_id),
            campaign=row.last_campaign,
            planned_at=format_time(row.last_at),
            outcome=row.last_outcome,
            detail=row.last_detail,
        ),
        "visits_last_day": row.visits,
        "failures_last_day": row.failures,
        "answered_at": None if row.answered_at is None else format_time(row.answered_at),
        "utilisation": utilisation,
        "busy_cores": utilisation * row.logical_cpus if known and utilisation is not None else None,
    }


def since(connection: Connection, length: timedelta) -> datetime:
    """The time so long before the snapshot's."""
    now: datetime = connection.execute(select(func.now())).scalar_one()
    return now - length


def _matching(find: str) -> list[ColumnElement[bool]]:
    if not find:
        return []
    fields = (machine.c.name, machine.c.datacenter, machine.c.cluster, machine.c.platform, machine.c.kernel)
    pairs = func.jsonb_each_text(labels_column()).table_valued("key", "value")
    label = pairs.c.key.concat("=").concat(pairs.c.value)
    of_labels = exists(select(literal(1)).select_from(pairs).where(label.icontains(find, autoescape=True)))
    return [or_(*(field.icontains(find, autoescape=True) for field in fields), of_labels)]


def _state(last: LateralFromClause) -> ColumnElement[str]:
    return case(
        (machine.c.enabled.is_(False), "disabled"),
        (last.c.visit_id.is_(None), "never_visited"),
        (last.c.outcome.in_(FAILURES), "failing"),
        else_="ok",
    )


def _last_told() -> LateralFromClause:
    """The machine's latest visit that ended, other than lost ones."""
    return _latest(visit.c.outcome.not_in(_UNTOLD)).lateral("last")


def _last_answered() -> LateralFromClause:
    """The machine's latest answered visit with a known utilisation."""
    return _latest(visit.c.outcome == Outcome.ANSWERED, visit.c.utilisation.is_not(None)).lateral("answered")


def _latest(*conditions: ColumnElement[bool]) -> Select[Any]:
    return (
        select(visit)
        .where(visit.c.machine_id == machine.c.machine_id, *conditions)
        .order_by(visit.c.drawn_at.desc())
        .limit(1)
        .correlate(machine)
    )


def _recent(connection: Connection, ids: Sequence[int] | None = None) -> CTE:
    """Numbers of visits and failures in the last day, of these machines or all."""
    # By campaign, to use an index: there is none by time alone.
    of_index = (
        visit.c.campaign_id.in_(connection.scalars(select(campaign.c.campaign_id)).all())
        if ids is None
        else visit.c.machine_id.in_(ids)
    )
    return (
        select(
            visit.c.machine_id,
            func.count().label("visits"),
            func.count().filter(visit.c.outcome.in_(FAILURES)).label("failures"),
        )
        .where(of_index, visit.c.drawn_at >= func.now() - RECENT, visit.c.outcome.not_in(_UNTOLD))
        .group_by(visit.c.machine_id)
        .cte("recent")
    )
