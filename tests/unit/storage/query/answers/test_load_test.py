"""GIVEN the answer of a load test WHEN its intervals' level is described THEN no level is below that of all intervals."""

from analysis.confidence import LEVEL
from storage.query.answers.load_test import LOWEST_LEVEL


def test_the_lowest_level_is_that_of_every_interval():
    assert LOWEST_LEVEL == LEVEL
