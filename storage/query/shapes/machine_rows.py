"""Machines of the inventory with their state and their latest visits, as rows of answers."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import CTE, ColumnElement, Connection, Row, Select, case, func, select, true
from sqlalchemy.sql.selectable import LateralFromClause

from storage.machine_selection import labels_column
from storage.query.answers.machines import LastVisit
from storage.query.selections.times import format_time
from storage.schema import FAILURES, Outcome, campaign, machine, visit

RECENT: Final = timedelta(days=1)
_UNTOLD: Final = (Outcome.DRAWN, Outcome.LOST)
"""Outcomes that tell nothing about the machine."""


def read_machines(connection: Connection, ids: Sequence[int]) -> Sequence[Row[Any]]:
    """The machines of these ids, unordered, with the columns that `members_of` needs."""
    recent, last, answered = recent_visits(connection, ids), last_told(), last_answered()
    return connection.execute(
        select(
            machine,
            labels_column().label("all_labels"),
            state_of(last).label("state"),
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


def state_of(last: LateralFromClause) -> ColumnElement[str]:
    """The machine's `MachineState`, by `last_told`."""
    return case(
        (machine.c.enabled.is_(False), "disabled"),
        (last.c.visit_id.is_(None), "never_visited"),
        (last.c.outcome.in_(FAILURES), "failing"),
        else_="ok",
    )


def last_told() -> LateralFromClause:
    """The machine's latest visit that ended, other than lost ones."""
    return _latest(visit.c.outcome.not_in(_UNTOLD)).lateral("last")


def last_answered() -> LateralFromClause:
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


def recent_visits(connection: Connection, ids: Sequence[int] | None = None) -> CTE:
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
