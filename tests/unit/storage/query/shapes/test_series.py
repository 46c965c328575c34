"""GIVEN what visits brought to rows WHEN it is put into steps of time THEN every step has its own visits, and a dropped question ends."""

from collections import Counter
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import QuestionDropped
from storage.query.answers.series import SeriesStep
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_totals import PerVisit
from storage.query.shapes.series import _InStep, _points
from storage.query.shapes.step_weights import StepWeights
from storage.snapshots.query_budget import Budget, Limits, Stop
from tests.filled_answers import filled

STEPS, ROWS = 4, 3
UNKNOWN = np.full(STEPS, np.nan)
IN_STEP = [_InStep(filled(SeriesStep, start=f"step {number}"), 0.5) for number in range(STEPS)]
contributions = st.dictionaries(st.tuples(st.integers(0, ROWS - 1), st.integers(0, 7)), st.integers(1, 9))
steps_of_visits = st.lists(st.integers(0, STEPS - 1), min_size=8, max_size=8)


def visits(count: int) -> Visits:
    """By hand, each with 100 units."""
    whole = np.arange(count)
    one, hundred = np.ones(count), np.full(count, 100)
    return Visits(Mock(weights=None), whole, whole, whole, whole, one, whole, hundred)


def by_visit(made: dict[tuple[int, int], int]) -> PerVisit:
    pairs = np.array(sorted(made), np.int64).reshape(-1, 2)
    return PerVisit(pairs[:, 0], pairs[:, 1], np.array([made[key] for key in sorted(made)], np.int64), ROWS)


@given(contributions, steps_of_visits)
def test_points_are_what_counting_says(made: dict[tuple[int, int], int], step: list[int]):
    found = _points(StepWeights(visits(8)), by_visit(made), np.array(step), UNKNOWN, IN_STEP)
    units, seen = Counter(), Counter()
    for (row, visit), value in made.items():
        units[row, step[visit]] += value
        seen[row, step[visit]] += 1
    for row, line in enumerate(found):
        for number, point in enumerate(line):
            whole = 100 * step.count(number)
            assert (point.units, point.visits) == (units[row, number], seen[row, number])
            assert point.share == (units[row, number] / whole if whole else None)
            assert (point.start, point.seconds) == (f"step {number}", units[row, number] / 2)


def test_no_points_are_made_for_a_question_that_was_dropped():
    budget = Budget(Limits())
    budget.stop(Stop.DROPPED)
    with budget.running(), pytest.raises(QuestionDropped):
        _points(StepWeights(visits(8)), by_visit({(0, 0): 1}), np.arange(8) % STEPS, UNKNOWN, IN_STEP)
