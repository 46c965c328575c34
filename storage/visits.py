"""Visits: rows that are written before a machine is called, and their outcomes.

A visit's id, inclusion probability, UTC day and hour are fixed at its draw, by the collector's clock, and never change:
a retry or an ingestion after midnight uses the same ones. The same holds for its machine's cluster and kernel: an
ingestion a week later uses their values at the draw.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, and_, func, insert, select, update

from storage import coverage
from storage.coverage import UNKNOWN_CLASS, Cell, Change, utilisation_class
from storage.errors import UnknownVisit
from storage.schema import BY_HAND, Outcome, machine, visit

_DIED = "The collector ended before the visit did."


@dataclass(frozen=True, slots=True)
class DrawnVisit:
    """A machine drawn in a round, before it is called."""

    visit_id: UUID
    campaign_id: int
    round: int
    """Number of the round, or `BY_HAND`."""
    machine_id: int
    stratum_id: int
    population: int
    """Machines in the stratum at the draw."""
    drawn: int
    """Machines drawn from the stratum in this round."""
    probability: float
    """Inclusion probability of this machine, 0…1; 0 for a visit by hand."""
    drawn_at: datetime
    """With a time zone; determines `day` and `hour`."""

    @property
    def day(self) -> date:
        """UTC day of the draw."""
        return self.drawn_at.astimezone(UTC).date()

    @property
    def hour(self) -> int:
        """Hours since 1970 UTC at the draw."""
        return int(self.drawn_at.timestamp() // 3600)


def record_draw(
    connection: Connection, visits: Sequence[DrawnVisit], collector_id: UUID | None = None
) -> None:
    """Insert the visits and count them in the coverage; commit before calling any machine.

    `collector_id` must hold a lease (`storage.collector_leases`) while it may still make the visits; None: by hand.
    """
    if not visits:
        return
    # The machine's current values: the inventory may have changed by the time a capture is reprocessed.
    rows = connection.execute(
        select(machine.c.machine_id, machine.c.cluster, machine.c.kernel).where(
            machine.c.machine_id.in_({v.machine_id for v in visits})
        )
    )
    machines = {row.machine_id: (row.cluster, row.kernel) for row in rows}
    places = [machines.get(v.machine_id, ("", "")) for v in visits]
    connection.execute(
        insert(visit),
        [
            {
                "visit_id": v.visit_id,
                "day": v.day,
                "hour": v.hour,
                "campaign_id": v.campaign_id,
                "round": v.round,
                "machine_id": v.machine_id,
                "stratum_id": v.stratum_id,
                "cluster": cluster,
                "kernel": kernel,
                "population": v.population,
                "drawn": v.drawn,
                "probability": v.probability,
                "drawn_at": v.drawn_at,
                "collector_id": collector_id,
            }
            for v, (cluster, kernel) in zip(visits, places, strict=True)
        ],
    )
    by_cell = sorted((v for v in visits if v.round != BY_HAND), key=_cell)
    for cell, members in groupby(by_cell, key=_cell):
        of_cell = list(members)
        population = max(v.population for v in of_cell)
        coverage.add(connection, cell, UNKNOWN_CLASS, Change(drawn=len(of_cell), population=population))


def begin(connection: Connection, visit_id: UUID, started_at: datetime) -> bool:
    """Record when the machine is called; False: the visit has ended, nothing changed."""
    begun = connection.execute(
        update(visit)
        .where(visit.c.visit_id == visit_id, visit.c.outcome == Outcome.DRAWN)
        .values(started_at=started_at)
    )
    return begun.rowcount == 1


def finish(
    connection: Connection,
    visit_id: UUID,
    *,
    outcome: Outcome,
    detail: str,
    ended_at: datetime,
    seconds: float | None = None,
    utilisation: float | None = None,
    clock_skew_s: float | None = None,
) -> bool:
    """Set the visit's outcome and move it in the coverage; False: it had one, nothing changed.

    `seconds` is the sampled duration, for `ANSWERED` only. Record an answered visit's capture first, in the same
    transaction (`storage.captures.record`). Raises `UnknownVisit`.
    """
    answered = outcome == Outcome.ANSWERED
    mine = utilisation_class(utilisation)
    if outcome == Outcome.DRAWN or answered != (seconds is not None):
        raise ValueError(f"a visit cannot end as {outcome} with seconds={seconds}")
    ended = connection.execute(
        update(visit)
        .where(visit.c.visit_id == visit_id, visit.c.outcome == Outcome.DRAWN)
        .values(
            outcome=outcome,
            detail=detail.replace("\0", ""),
            ended_at=ended_at,
            seconds=seconds,
            utilisation=None if mine == UNKNOWN_CLASS else utilisation,
            clock_skew_s=clock_skew_s,
        )
        .returning(
            visit.c.campaign_id,
            visit.c.stratum_id,
            visit.c.hour,
            visit.c.day,
            visit.c.population,
            visit.c.round,
        )
    ).one_or_none()
    if ended is None:
        if connection.scalar(select(visit.c.visit_id).where(visit.c.visit_id == visit_id)) is None:
            raise UnknownVisit(f"There is no visit {visit_id}.")
        return False
    if ended.round == BY_HAND:
        return True
    cell = _cell(ended)
    result = Change(answered=1, seconds=seconds) if seconds is not None else Change(failed=1)
    if mine == UNKNOWN_CLASS:
        coverage.add(connection, cell, mine, result)
    else:
        moved = Change(
            drawn=1,
            answered=result.answered,
            failed=result.failed,
            seconds=result.seconds,
            population=ended.population,
        )
        coverage.add(connection, cell, UNKNOWN_CLASS, Change(drawn=-1))
        coverage.add(connection, cell, mine, moved)
    return True


def abandon(connection: Connection, before: datetime) -> int:
    """End unfinished visits drawn before `before` as lost, since their collector died; return their number.

    `before` must allow for the duration of a round and of a call.
    """
    return _lose(connection, visit.c.drawn_at < before, _DIED)


def lose(connection: Connection, visit_ids: Collection[UUID], why: str = _DIED) -> int:
    """End these visits as lost unless they have ended; return their number."""
    return _lose(connection, visit.c.visit_id.in_(visit_ids), why)


def lose_not_begun(connection: Connection, campaign_id: int, why: str) -> int:
    """End the campaign's visits whose machine was not called yet as lost; return their number."""
    of_rounds = and_(visit.c.campaign_id == campaign_id, visit.c.round != BY_HAND)
    return _lose(connection, and_(of_rounds, visit.c.started_at.is_(None)), why)


def _lose(connection: Connection, which: ColumnElement[bool], why: str) -> int:
    """End visits as lost; safe while others begin or finish them: the first writer decides.

    Visits' rows are locked before coverage rows, and never waited for, so that concurrent calls cannot deadlock.
    """
    open_ones = (
        select(visit.c.visit_id)
        .where(visit.c.outcome == Outcome.DRAWN, which)
        .with_for_update(skip_locked=True)
    )
    lost = connection.execute(
        update(visit)
        .where(and_(visit.c.visit_id.in_(open_ones), visit.c.outcome == Outcome.DRAWN))
        .values(outcome=Outcome.LOST, detail=why, ended_at=func.clock_timestamp())
        .returning(visit.c.campaign_id, visit.c.stratum_id, visit.c.hour, visit.c.day, visit.c.round)
    ).all()
    for cell, number in sorted(Counter(_cell(row) for row in lost if row.round != BY_HAND).items()):
        coverage.add(connection, cell, UNKNOWN_CLASS, Change(failed=number))
    return len(lost)


def _cell(source: DrawnVisit | Row[Any]) -> Cell:
    return Cell(source.campaign_id, source.stratum_id, source.hour, source.day)
