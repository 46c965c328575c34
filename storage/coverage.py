"""Coverage of the fleet by visits, from which weights are computed at query time.

There is one row per campaign × stratum × hour × utilisation class (docs/numbers.md). A visit counts as drawn in class
-1 from its draw on, and moves to its own class when it ends. So `sum(drawn)` is always the number of visits drawn,
and `drawn - answered - failed` of class -1 is the number of open visits.
Every stratum has a row in every hour that a round overlaps, even if no machine of it was drawn: its
machine-time has no weight, which answers must report. Only `storage.visits` and the draw of a round write
here. `covered_time` has the times in which rounds were drawn.
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
"""Maximum gap between rounds that count as consecutive: collectors poll once a second, and databases may be slow."""
_BATCH = 1000


def utilisation_class(utilisation: float | None) -> int:
    """Quarter of the machine's busy share (0…1), 0 to 3; -1: unknown.

    Machines that do not answer are busier than others. Ignoring them when machines above 85 % load refuse makes the
    fleet's CPU 6 % too small; adjusting weights within four classes leaves 0.1 %.
    """
    if utilisation is None or not utilisation >= 0:  # also NaN
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
    """Increments of one row, a cell's utilisation class."""

    drawn: int = 0
    answered: int = 0
    failed: int = 0
    seconds: float = 0.0
    population: int = 0
    """Machines in the stratum; the row keeps the maximum."""


def note_populations(
    connection: Connection,
    campaign_id: int,
    populations: Mapping[int, int],
    hours: Iterable[int],
) -> None:
    """Record the number of machines of each stratum in these hours; the maximum is kept.

    Call it in the draw's transaction, before `storage.visits.record_draw`. It locks the rows of class -1 in
    cell order, and the draw then updates some of them.
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
                # Rounds are a minute apart, so a row with an unchanged population is only locked, not rewritten.
                where=coverage.c.population < rows.excluded.population,
            )
        )


def note_time(connection: Connection, campaign_id: int, start: datetime, end: datetime) -> bool:
    """Record that visits of this time are drawn, even if none is; return whether the time follows the recorded one.

    A round that begins when the previous one ended, or up to `NO_PAUSE` later, extends its row. Call it in the
    transaction that claimed the round (`storage.campaigns.begin_round`), which makes it the only writer of the
    campaign's rows.
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
    """Record that a drawn round ends early, at `moment` (None: now); return whether there was one.

    The caller cancels the visits drawn for later.
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
    """Hours since 1970 UTC that overlap [start, end); the hour of `start` if it is empty."""
    first = int(start.timestamp() // 3600)
    return range(first, max(first + 1, ceil(end.timestamp() / 3600)))


def add(connection: Connection, cell: Cell, utilisation_class: int, change: Change) -> None:
    """Add to one row, inserting it if necessary.

    Update several rows in ascending order of (cell, class) to prevent deadlocks.
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
