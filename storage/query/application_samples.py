"""The samples of a selection by application, out of merged cells whose stacks stay unread.

What each application has stands in its cells; how many samples have no names or no callers follows from the functions of
all of them, as for tables by function (`storage.query.function_samples`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection

from storage.query.cells.evidence import Merged
from storage.query.cells.samples import by_application
from storage.query.facts.scan import SampleType
from storage.query.function_samples import Quality, gathered_sums, tell
from storage.query.planner import CellPlan
from storage.query.samples import SampleSource
from storage.query.selections.selection import Selection
from storage.query.unseen import bounded
from storage.query.weighing.evidence import Seen

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class ApplicationSamples:
    """What the applications of a selection have."""

    kind: SampleType
    seen: Seen
    """What visits brought that are in no cell."""
    evidence: Merged
    """Its rows are the applications."""
    units: int
    """Observed."""
    quality: Quality

    @property
    def whole(self) -> float:
        """Units of the fleet in all of it: what shares are of."""
        return self.evidence.whole


def read_applications(
    source: SampleSource,
    connection: Connection,
    selection: Selection,
    kind: SampleType,
    plan: CellPlan,
    *,
    make: Callable[[ApplicationSamples], _Found],
) -> _Found | None:
    """What is made of a selection by cells for rows that are applications; else as `read_functions`."""
    gathered = gathered_sums(source, connection, selection, kind, plan)
    if gathered is None:
        return None
    told = tell(source, connection, gathered, merging=False)
    loose = gathered.loose.facts
    application = loose.application[loose.profile]
    seen = Seen(loose.visit[loose.profile], told.shape.leaf, loose.values, loose.units, application)
    evidence = bounded(
        by_application(gathered, told.canonical),
        connection,
        selection,
        kind,
        cache=source.cache,
        planner=source.planner,
    )
    return make(ApplicationSamples(kind, seen, evidence, gathered.units, told.quality))
