"""Whether merged cells can answer a question, and which: the smallest cube that covers its keys and filters.

Cells answer selections of whole hours, alone or with the visits of a part of an hour before and after them,
that ask for whole stacks. Intervals need sums of squares of exactly what is asked, so rows are the
functions of everything, the functions of one application, or the applications. All else is read from
the visits' own chunks. Source: docs/architecture.md; DIGEST G15.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from sqlalchemy import Connection

from storage.query.facts.scan import SampleType
from storage.query.selections import label_names
from storage.query.selections.selection import Selection
from storage.query.weighing.covered import HOUR_S
from storage.rolling.cubes import APPLICATION, EVENT, Cube

SHORTEST_PART_S = 6 * HOUR_S
"""A selection that does not begin and end with an hour uses cells if it is longer."""
_APPLICATION = "application"


@dataclass(frozen=True, slots=True)
class Plan:
    """Which cells to read."""

    cube: Cube
    """Whose facts and moments are those of the whole selection."""
    k1: tuple[int, ...] | None
    """The application's id; None: all there is."""
    first: int
    """Hours since 1970 UTC: cells are of [first, end)."""
    end: int
    by_application: bool
    """Rows are applications, not functions."""


def plan(
    connection: Connection,
    selection: Selection,
    kind: SampleType,
    labels: Sequence[str],
    *,
    frame: str | None,
) -> Plan | None:
    """The cells that answer a table by these labels and this frame key; None: the chunks do."""
    start, end = selection.start.timestamp(), selection.end.timestamp()
    first, last = ceil(start / HOUR_S), int(end // HOUR_S)
    whole = start % HOUR_S == 0 and end % HOUR_S == 0
    if first >= last or not (whole or end - start > SHORTEST_PART_S):
        return None
    if selection.filters_stacks or kind.gauge or kind.id is None:
        return None
    if (frame, *labels) not in {("function",), (None, _APPLICATION)}:
        return None
    if any(matcher.label != _APPLICATION for matcher in selection.matchers):
        return None
    if not selection.matchers:
        return Plan(EVENT, None, first, last, by_application=bool(labels))
    applications = label_names.matching_values(connection, _APPLICATION, selection.matchers)
    if len(applications) != 1:
        return None  # a visit's units of several applications together are in no cell
    return Plan(APPLICATION, tuple(applications), first, last, by_application=bool(labels))
