"""The text of a search."""

import pytest

from services.api.problems import Problem
from services.api.profiles.search import text_of


def test_blanks_around_the_text_are_ignored():
    assert text_of("  mem cpy ") == "mem cpy"


@pytest.mark.parametrize("q", ["", " \t"])
def test_an_empty_text_is_refused(q: str):
    with pytest.raises(Problem) as refused:
        text_of(q)
    assert (refused.value.status, refused.value.parameter) == (422, "q")
