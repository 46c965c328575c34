"""How much of the fleet was really seen: what weights are computed from when a question is asked.

One row for each campaign × stratum × hour × utilisation class (docs/numbers.md). A visit counts as drawn
in class -1 from its draw on, and moves to its own class when it ends, so at any moment
`sum(drawn)` is the number of visits drawn and `drawn - answered - failed` of class -1 those under way.
Every stratum has a row in every hour that a round reaches into, also where chance left it out: a
stratum nobody was drawn from is machine-time that no weight speaks for, and answers must say so.
`storage.visits` and a round's draw are the only writers. When rounds were drawn at all is in `covered_time`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from math import ceil
from typing import Any

from sqlalchemy import Connection, func, update
from sqlalchemy.dialects.postgresql import insert

from storage.schema import coverage, covered_time

UNKNOWN_CLASS = -1
CLASSES = 4
NO_PAUSE = timedelta(seconds=5)
"""A draw that comes no later than this after the round before it follows it: collectors look once a second, databases may be slow."""
_BATCH = 1000


def utilisation_class(utilisation: float | None) -> int:
    """Quarter of the busy share (0…1) a machine was in, 0 to 3; -1: not known.

    Machines that do not answer are busier than the others: ignoring them when they refuse above 85 %
    load makes the fleet's CPU 6 % too small, adjusting weights within four classes 0.1 %.
    """
    if utilisation is None or not utilisation >= 0:  # NaN too
        return UNKNOWN_CLASS
    return min(int(min(utilisation, 1.0) * CLASSES), CLASSES - 1)


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One stratum of a campaign in one hour."""

    campaign_id: int
    stratum_id: int
    hour: int
    day: date


@dataclass(frozen=True, slots=True)
class Change:
    """What one statement adds to a cell's class."""

    drawn: int = 0
    answered: int = 0
    failed: int = 0
    seconds: float = 0.0
    population: int = 0
    """Machines in the stratum; the row keeps the largest."""


def note_populations(
    connection: Connection,
    campaign_id: int,
    populations: Mapping[int, int],
    hours: Iterable[int],
) -> None:
    """Note how many machines each stratum has in these hours, the largest number staying.

    Call it in the transaction of the draw, before `storage.visits.record_draw`: it locks the rows of
    class -1 in the order of their cells, and the draw then adds to some of the same ones.
    """
    cells = sorted(
        (Cell(campaign_id, stratum_id, hour, _day_of(hour)), population)
        for hour in set(hours)
        for stratum_id, population in populations.items()
    )
    for start in range(0, len(cells), _BATCH):
        rows = insert(coverage).values(
            [
                _row(cell, UNKNOWN_CLASS, Change(population=population))
                for cell, population in cells[start : start + _BATCH]
            ]
        )
        connection.execute(
            rows.on_conflict_do_update(
                index_elements=list(coverage.primary_key),
                set_={"population": rows.excluded.population},
                # Rounds are a minute apart: a row whose population stays is locked, not written again.
                where=coverage.c.population < rows.excluded.population,
            )
        )


def note_time(connection: Connection, campaign_id: int, start: datetime, end: datetime) -> bool:
    """Note that visits of this time are drawn, also where chance leaves it without any; whether it follows what was noted.

    A round that begins where the one before it ended, or up to `NO_PAUSE` later, extends its row. Call it in the
    transaction that claimed the round (`storage.campaigns.begin_round`): no other one then writes the campaign's rows.
    """
    if not end > start:
        return True
    c = covered_time.c
    extended = connection.execute(
        update(covered_time)
        .where(c.campaign_id == campaign_id, c.begins <= start, c.ends >= start - NO_PAUSE)
        .values(ends=func.greatest(c.ends, end))
    )
    if extended.rowcount:
        return True
    connection.execute(insert(covered_time).values(campaign_id=campaign_id, begins=start, ends=end))
    return False


def end_time(connection: Connection, campaign_id: int, moment: datetime | None = None) -> bool:
    """Note that no visit is made from `moment` on (None: now), though a round was drawn that goes on; whether one did.

    Visits that had been drawn for later are called off by whoever has them.
    """
    c = covered_time.c
    until = func.clock_timestamp() if moment is None else moment
    ended = connection.execute(
        update(covered_time)
        .where(c.campaign_id == campaign_id, c.begins < func.clock_timestamp(), c.ends > until)
        .values(ends=func.greatest(c.begins, until))
    )
    return ended.rowcount > 0


def hours_between(start: datetime, end: datetime) -> range:
    """Hours since 1970 UTC that [start, end) has a moment in; the one of `start` if it is empty."""
    first = int(start.timestamp() // 3600)
    return range(first, max(first + 1, ceil(end.timestamp() / 3600)))


def add(connection: Connection, cell: Cell, utilisation_class: int, change: Change) -> None:
    """Add to one row, making it if need be.

    Callers that touch several rows do so in ascending order of (cell, class): else two of them can
    deadlock.
    """
    row = insert(coverage).values(_row(cell, utilisation_class, change))
    connection.execute(
        row.on_conflict_do_update(
            index_elements=list(coverage.primary_key),
            set_={
                "population": func.greatest(coverage.c.population, row.excluded.population),
                "drawn": coverage.c.drawn + row.excluded.drawn,
                "answered": coverage.c.answered + row.excluded.answered,
                "failed": coverage.c.failed + row.excluded.failed,
                "seconds": coverage.c.seconds + row.excluded.seconds,
            },
        )
    )


def _row(cell: Cell, utilisation_class: int, change: Change) -> dict[str, Any]:
    return {**asdict(cell), "utilisation_class": utilisation_class, **asdict(change)}


def _day_of(hour: int) -> date:
    return date(1970, 1, 1) + timedelta(days=hour // 24)
