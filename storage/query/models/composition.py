"""The fleet's work over time by compiler, platform, kernel, version …, and the speed of rollouts (DIGEST G31)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite

import numpy as np

from analysis.audits.composition import Composition, compose
from analysis.audits.rollout import Rollout
from analysis.errors import NotEstimable
from analysis.measured import Measured
from analysis.visit_table import VisitTable
from storage.arrays import Float, Int64
from storage.errors import BadSelection
from storage.query.answers.composition import ChangeAnswer, CompositionAnswer, Reached, SharePoint, ValueRow
from storage.query.answers.figures import definite, figure
from storage.query.answers.inputs import Unavailable
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_tables import counted, visit_table
from storage.query.facts.selection_echo import selection_echo
from storage.query.models.labelled import read_labelled
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.steps import DAY_S, steps
from storage.query.store_reading import StoreReading

MOST_VALUES = 100
MOST_STEPS = 400


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
            selection=selection_echo(self.selection, of_label.kind),
            totals=of_label.totals,
            by=self.by,
            step_seconds=over.step_s,
            times=tuple(format_time(over.time(number)) for number in range(over.count)),
            rows=found,
            rows_total=of_label.count,
            because=unavailable,
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
            SharePoint(figure(Measured(value, lo, hi)), low_confidence)
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


def _change(found: Rollout) -> ChangeAnswer:
    return ChangeAnswer(
        reached=tuple(
            Reached(level, _moment(at.value), _bound(at.lo), _bound(at.hi))
            for level, at in sorted(found.reached.items())
        ),
        duration_seconds=found.duration,
        share=definite(found.share),
        fell_back=found.fell_back,
    )


def _bound(seconds: float) -> str | None:
    """The moment; None if it is infinite."""
    return _moment(seconds) if isfinite(seconds) else None


def _moment(seconds: float) -> str:
    """Seconds since 1970 UTC as RFC 3339."""
    return format_time(datetime.fromtimestamp(round(seconds), UTC))
