"""The verdict of a comparison: which functions of an application changed, and by how much."""

from dataclasses import dataclass
from typing import Literal

from storage.query.answers.diff import DiffRow
from storage.query.answers.figures import Figure
from storage.query.answers.releases import ChangedFunction, ReleaseComparison
from storage.query.shapes.diff import Judged

MOST_FUNCTIONS = 10
"""Changed functions in an answer; their number is stated in full."""


@dataclass(frozen=True, slots=True)
class Sides:
    """What a comparison compares."""

    kind: Literal["release", "week"]
    version: str
    previous: str
    visits: int
    previous_visits: int
    same_time: bool


def untested(sides: Sides) -> ReleaseComparison:
    """The comparison of sides with too few visits."""
    return ReleaseComparison(
        kind=sides.kind,
        version=sides.version,
        previous=sides.previous,
        visits=sides.visits,
        previous_visits=sides.previous_visits,
        same_time=sides.same_time,
        verdict="too_little",
        grew=0,
        shrank=0,
        worst=None,
        functions=(),
        examined=0,
        power=None,
        compared_part=1.0,
    )


def comparison_of(sides: Sides, found: Judged, cores: float | None, part: float = 1.0) -> ReleaseComparison:
    """The comparison of judged rows; `cores` is the mean number of cores of the first side, `part` that of visits read."""
    changed = [row for row in found.by_difference if row.significant]
    functions = [_changed(row, cores) for row in changed]
    grown = [one for one in functions if one.delta > 0]
    return ReleaseComparison(
        kind=sides.kind,
        version=sides.version,
        previous=sides.previous,
        visits=sides.visits,
        previous_visits=sides.previous_visits,
        same_time=sides.same_time,
        verdict="changed" if functions else "no_change",
        grew=len(grown),
        shrank=len(functions) - len(grown),
        worst=grown[0] if grown else None,
        functions=tuple(functions[:MOST_FUNCTIONS]),
        examined=len(found.rows),
        power=None if found.power is None else found.power.power,
        compared_part=found.part * part,
    )


def _changed(row: DiffRow, cores: float | None) -> ChangedFunction:
    lo, hi, p, q = row.lo, row.hi, row.p, row.q
    if lo is None or hi is None or p is None or q is None:
        raise TypeError("a significant row was tested")
    before = row.b_share
    factor = None
    if before > 0:
        factor = Figure(row.a_share / before, max(0.0, (before + lo) / before), (before + hi) / before)
    return ChangedFunction(
        key=row.key,
        function_id=row.function_id,
        a_share=row.a_share,
        b_share=before,
        delta=row.delta,
        lo=lo,
        hi=hi,
        p=p,
        q=q,
        factor=factor,
        extra_cores=None if cores is None else Figure(row.delta * cores, lo * cores, hi * cores),
    )
