"""Regular expressions of strangers."""

import time

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
