"""How much there can be at most of a selection in steps of which no visit saw any of it: a share of what they saw besides.

As of the whole time (`storage.query.zero_count_bounds`), step by step: of the whole event the visits of a step are asked for their sums, of
cells where these tell it, else of profiles. Source: docs/numbers.md, "Zero".
"""

from dataclasses import replace

import numpy as np

from analysis import estimate, moments
from storage.arrays import Bool, Float, weight_at
from storage.query.estimation.visit_times import VisitTimes
from storage.query.facts.visit_scan import SampleType
from storage.query.reading import Reading
from storage.query.selections.selection import Selection
from storage.query.shapes.cell_series import whole_by_step
from storage.query.shapes.step_weights import step_weights
from storage.query.shapes.steps import Steps
from storage.query.zero_count_bounds import could_be_seen, event_of, unless_too_much


def step_bounds(
    reading: Reading,
    selection: Selection,
    kind: SampleType,
    over: Steps,
    times: VisitTimes | None,
    *,
    unseen: Bool,
) -> Float:
    """Units of the fleet by step; NaN where `unseen` does not say that none of it was seen, and where nothing is known.

    `times` are those of the selection's visits one by one; None: they are read if they are needed. Raises `DatabaseError`.
    """
    bounds = np.full(over.count, np.nan)
    if not unseen.any() or not could_be_seen(selection):
        return bounds
    event = event_of(selection)
    found = unless_too_much(lambda: _of_cells(reading, event, over))
    if found is None:
        found = unless_too_much(lambda: _of_visits(reading, event, kind, over, times))
    return bounds if found is None else np.where(unseen, found, np.nan)


def _of_cells(reading: Reading, event: Selection, over: Steps) -> Float | None:
    """Bounds of all steps; None: cells cannot tell."""
    found = None if reading.cells is None else whole_by_step(reading.cells, event, over)
    return None if found is None else _most(found)


def _of_visits(
    reading: Reading, event: Selection, kind: SampleType, over: Steps, times: VisitTimes | None
) -> Float | None:
    """As `_of_cells`; None: the visits are no random sample."""
    visits = reading.event_visits(event, kind)
    if visits is None:
        return None
    times = times or reading.visit_times(event)
    weighed = step_weights(reading, event, visits, times, over).visits
    step, z = over.of(times.of(weighed.id)), weighed.weight * weighed.selected
    return _most(np.array([weight_at(step, of_visits, over.count) for of_visits in (z, z * z)]))


def _most(sums: Float) -> Float:
    """What a row that nobody saw can be at most, of Σwx and Σ(wx)² over the visits of each step; NaN where they saw nothing."""
    nothing = moments.none(1)
    steps = [replace(nothing, x=x, x_second=x_second) for x, x_second in zip(*sums.tolist(), strict=True)]
    return estimate.totals_of_all(steps).hi
