"""The fleet's work over time by compiler, platform, kernel, version …, and the speed of rollouts (DIGEST G31)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from analysis.audits.composition import Composition, compose
from analysis.audits.rollout import Rollout
from analysis.errors import NotEstimable
from analysis.measured import Measured
from analysis.visit_table import VisitTable
from storage.arrays import Float, Int64
from storage.errors import BadSelection
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_tables import counted, visit_table
from storage.query.facts.visit_scan import SampleType
from storage.query.models.labelled import read_labelled
from storage.query.models.no_answer import Unavailable
from storage.query.selections.selection import Selection
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.steps import DAY_S, steps
from storage.query.shapes.totals import Totals
from storage.query.store_reading import StoreReading

MOST_VALUES = 100
MOST_STEPS = 400


@dataclass(frozen=True, slots=True)
class SharePoint:
    """A value's share in one step; None: the step has no visits."""

    share: Measured | None
    low_confidence: bool


@dataclass(frozen=True, slots=True)
class Change:
    """The rollout of a value, or its decline."""

    reached: tuple[tuple[float, Measured], ...]
    """Levels 0…1 and the times at which they were reached, in seconds since 1970; an unbounded end is ±∞."""
    duration_s: float | None
    """Time from 10 to 90 %; None if these levels were not reached."""
    share: Measured
    """Share in the last step."""
    fell_back: bool
    """The value was rolled back, in whole or in part."""


@dataclass(frozen=True, slots=True)
class ValueRow:
    """One value of the dimension over time."""

    value: str
    share: float
    """Share of the whole selection."""
    points: tuple[SharePoint, ...]
    change: Change | None
    unavailable: Unavailable | None
    """The reason why its change is unknown."""


@dataclass(frozen=True, slots=True)
class CompositionAnswer:
    """The largest values over time."""

    kind: SampleType
    totals: Totals
    by: str
    step_s: int
    times: tuple[datetime, ...]
    """Starts of the steps."""
    rows: tuple[ValueRow, ...]
    rows_total: int
    unavailable: Unavailable | None


@dataclass(frozen=True, slots=True)
class CompositionQuestion:
    """Shares by one label over time."""

    selection: Selection
    by: str = "version"
    step_s: int = 0
    """Seconds; 0: a common length is chosen."""
    points: int = 60
    limit: int = 10

    def answer(self, reading: StoreReading) -> CompositionAnswer:
        """The shares. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        keys = split_keys((self.by,))
        if keys.frames:
            raise BadSelection(
                "A stack has many functions, so work is divided by a label.",
                hint="by=version, compiler, platform, kernel, datacenter …",
                parameter="by",
            )
        over = steps(self.selection, self.points, self.step_s)
        if over.count > MOST_STEPS:
            raise BadSelection(
                f"The time range has {over.count} steps; the limit is {MOST_STEPS}.", parameter="step"
            )
        of_label = read_labelled(reading, self.selection, self.by, MOST_VALUES)
        visits = of_label.visits
        found: tuple[ValueRow, ...] = ()
        unavailable = _why_unavailable(visits, of_label.count)
        if unavailable is None:
            table = visit_table(visits, of_label.contributions, np.arange(len(visits)))
            drawn_at = reading.visit_times(self.selection).of(visits.id[counted(visits)])
            step = over.of(drawn_at)
            table = replace(table, weight=_balanced(table, step, drawn_at // DAY_S))
            seen = [table.of(np.flatnonzero(step == number)) for number in range(over.count)]
            made = compose(over.starts + over.step_s / 2, seen)
            whole = of_label.whole
            shares = [float(weight) / whole if whole else 0.0 for weight in of_label.weighted.tolist()]
            found = _rows(of_label.names, shares, made)[: self.limit]
        return CompositionAnswer(
            of_label.kind,
            of_label.totals,
            self.by,
            over.step_s,
            tuple(over.time(number) for number in range(over.count)),
            found,
            of_label.count,
            unavailable,
        )


def _balanced(table: VisitTable, step: Int64, day: Float) -> Float:
    """Weights that give every stratum the same part of the work in each step of a day as in the whole day.

    The number of a step's visits in a stratum is random. Without this, shares by platform, which defines strata, varied
    twice as much as their intervals predict. A stratum without a visit in a step is missing there.
    """
    _, of_day = np.unique(np.stack((table.stratum, day.astype(np.int64))), axis=1, return_inverse=True)
    _, of_step = np.unique(np.stack((of_day, step)), axis=1, return_inverse=True)
    days, parts = (
        np.bincount(of, weights=table.weight)[of] for of in (of_day.reshape(-1), of_step.reshape(-1))
    )
    return np.divide(table.weight * days, parts, out=np.zeros(len(parts)), where=parts > 0)


def _why_unavailable(evidence: Visits, rows: int) -> Unavailable | None:
    if not rows:
        return Unavailable("too_little", "The selection has no samples.")
    if evidence.design.weights is None:
        return Unavailable(
            "not_random", "Visits by hand are not a random sample, so they give no fleet estimates."
        )
    return None


def _rows(names: Sequence[str], shares: Sequence[float], made: Composition) -> tuple[ValueRow, ...]:
    changes = made.changes()
    rows = []
    for place, (name, share) in enumerate(zip(names, shares, strict=True)):
        points = tuple(
            SharePoint(None if np.isnan(value) else Measured(value, lo, hi), bool(low_confidence))
            for value, lo, hi, low_confidence in zip(
                made.value[:, place].tolist(),
                made.lo[:, place].tolist(),
                made.hi[:, place].tolist(),
                made.low_confidence[:, place].tolist(),
                strict=True,
            )
        )
        change = changes[place]
        if isinstance(change, NotEstimable):
            rows.append(ValueRow(name, share, points, None, Unavailable(change.reason, str(change))))
        else:
            rows.append(ValueRow(name, share, points, _change(change), None))
    return tuple(rows)


def _change(found: Rollout) -> Change:
    return Change(tuple(sorted(found.reached.items())), found.duration, found.share, found.fell_back)
