"""Upper bounds for a selection in steps without an observed sample, from the visits' samples of the whole event.

The same bound as for the whole range (`storage.query.zero_count_bounds`), step by step. The sums of the whole event
come from cells if these can be split by step, else from profiles. Source: docs/numbers.md, "Zero".
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
    """Units of the fleet by step; NaN where `unseen` is not set, and where no bound is known.

    `times` are those of the selection's single visits; None: they are read if needed. Raises `DatabaseError`.
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
    """Bounds of all steps; None: cells cannot give them."""
    found = None if reading.cells is None else whole_by_step(reading.cells, event, over)
    return None if found is None else _most(found)


def _of_visits(
    reading: Reading, event: Selection, kind: SampleType, over: Steps, times: VisitTimes | None
) -> Float | None:
    """As `_of_cells`; None: the visits are not a random sample."""
    visits = reading.event_visits(event, kind)
    if visits is None:
        return None
    times = times or reading.visit_times(event)
    weighed = step_weights(reading, event, visits, times, over).visits
    step, z = over.of(times.of(weighed.id)), weighed.weight * weighed.selected
    return _most(np.array([weight_at(step, of_visits, over.count) for of_visits in (z, z * z)]))


def _most(sums: Float) -> Float:
    """Upper bound for an unobserved row, from Σwx and Σ(wx)² over the visits of each step; NaN where these are 0."""
    nothing = moments.none(1)
    steps = [replace(nothing, x=x, x_second=x_second) for x, x_second in zip(*sums.tolist(), strict=True)]
    return estimate.totals_of_all(steps).hi
