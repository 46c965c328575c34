"""Constants that answers repeat, because a light client must not import what defines them."""

from analysis.confidence import LEVEL
from storage.query.answers.figures import LOWEST_LEVEL


def test_the_lowest_level_is_the_level_of_all_intervals() -> None:
    assert LOWEST_LEVEL == LEVEL
