"""How much of the fleet was really seen: what weights are computed from when a question is asked.

One row for each campaign × stratum × hour × utilisation class (DESIGN §4). A visit counts as drawn
in class -1 from its draw on, and moves to its own class when it ends, so at any moment
`sum(drawn)` is the number of visits drawn and `drawn - answered - failed` of class -1 those under way.
`storage.visits` is the only writer.
"""

from dataclasses import dataclass
from datetime import date

from sqlalchemy import Connection, func
from sqlalchemy.dialects.postgresql import insert

from storage.schema import coverage

UNKNOWN_CLASS = -1
CLASSES = 4


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


def add(connection: Connection, cell: Cell, utilisation_class: int, change: Change) -> None:
    """Add to one row, making it if need be.

    Callers that touch several rows do so in ascending order of (cell, class): else two of them can
    deadlock.
    """
    row = insert(coverage).values(
        campaign_id=cell.campaign_id,
        stratum_id=cell.stratum_id,
        hour=cell.hour,
        day=cell.day,
        utilisation_class=utilisation_class,
        population=change.population,
        drawn=change.drawn,
        answered=change.answered,
        failed=change.failed,
        seconds=change.seconds,
    )
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
