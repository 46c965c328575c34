"""Regular expressions of strangers."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import BadSelection
from storage.query.selections import patterns


def test_labels_match_whole_and_functions_anywhere():
    assert not patterns.full_match("Zen")("Zen 3")
    assert patterns.full_match("Zen.*")("Zen 3")
    assert patterns.search("malloc")("__libc_malloc_impl")
    assert patterns.full_match("é+")("éé")


def test_expressions_that_explode_elsewhere_do_not_here():
    begun = time.process_time()
    assert not patterns.full_match("(a+)+b")("a" * 5000)
    assert time.process_time() - begun < 5, "Python's re needs 2^5000 steps"


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_a_pattern_or_an_error(pattern: str, text: str):
    try:
        test = patterns.search(pattern)
    except BadSelection:
        return
    assert test(text) in {True, False}


@pytest.mark.parametrize(
    ("pattern", "at"),
    [
        ("(", 1),
        ("a(b", 3),
        ("a)b", 1),
        ("(a))b)", 3),
        ("[abc", 4),
        ("a**", 1),
        ("x[**]**", 5),
        (r"\*\*a**", 5),
        (r"a\q", 1),
        (r"\Q\q\E\q", 6),
        ("é[z-a]", 2),
        ("*a", 0),
        ("(?=x)", 0),
        ("a{2,1}", 1),
        ("a{1}b{1001}", 5),
        ("[[:foo:]]", 1),
        ("a\\", 1),
        (r"[\pL\pN]{500}", 0),
    ],
)
def test_mistakes_are_pointed_at(pattern: str, at: int):
    with pytest.raises(BadSelection) as caught:
        patterns.search(pattern, parameter="focus")
    assert (caught.value.parameter, caught.value.at) == ("focus", at)


@given(st.text("()[]{}*+?|\\abqQE1,-^:é", max_size=15))
def test_mistakes_are_in_the_pattern(pattern: str):
    try:
        patterns.search(pattern, parameter="focus")
        at: int | None = 0
    except BadSelection as error:
        at = error.at
    assert at in range(len(pattern) + 1)
