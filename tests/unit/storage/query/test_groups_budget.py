"""GIVEN samples of many groups WHEN the question is dropped meanwhile THEN the work on them ends with the group under way."""

from unittest.mock import Mock

import numpy as np
import pytest

from storage.errors import QuestionDropped
from storage.query.facts.visit_scan import Facts
from storage.query.samples import Samples
from storage.query.shapes.table_frames import FrameGroup
from storage.query.stacks.function_names import Functions
from storage.query.stacks.stack_tree import Shape
from storage.snapshots.query_budget import Budget, Limits, Stop


def samples(facts: int) -> Samples:
    """One stack of one frame, `facts` times, each of a profile of its own."""
    ints = np.array
    shape = Shape(
        ints([-1, 0]), ints([0, 5]), ints([2, 2]), ints([0, 1]), ints([False, True]), np.ones(facts, np.int64)
    )
    one = np.ones(facts, np.int64)
    return Samples(Mock(), Mock(), Facts(np.arange(facts), one, one, one), np.ones(facts), shape, Mock())


def test_splitting_samples_ends_soon_after_the_question_is_dropped(monkeypatch: pytest.MonkeyPatch):
    budget, split = Budget(Limits()), []
    whole = Shape.above_its_leaves

    def dropping(shape: Shape) -> Shape:
        split.append(shape)
        budget.stop(Stop.DROPPED)
        return whole(shape)

    monkeypatch.setattr(Shape, "above_its_leaves", dropping)
    with budget.running(), pytest.raises(QuestionDropped):
        samples(9).in_groups(np.arange(9), 9)
    assert len(split) == 1


def test_adding_up_a_group_is_not_begun_for_a_question_that_was_dropped():
    budget = Budget(Limits())
    with budget.running():
        budget.stop(Stop.DROPPED)
        with pytest.raises(QuestionDropped):
            FrameGroup(Functions(), samples(3), {}, ("function",))
