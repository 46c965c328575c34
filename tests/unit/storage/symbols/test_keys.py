import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.symbols.absences import source_kind
from storage.symbols.errors import BadKey
from storage.symbols.keys import MAX_KEY_BYTES, checked, sentence, source_path


@pytest.mark.parametrize("key", ["ab12", "go:x/y", "path:/usr/bin/ü", "x" * MAX_KEY_BYTES])
def test_a_key_stays_what_it_is(key: str):
    assert checked(key) == key


@pytest.mark.parametrize("key", ["", "a\0b", "x" * (MAX_KEY_BYTES + 1), "字" * 400, "\ud800"])
def test_what_cannot_be_indexed_is_no_key(key: str):
    with pytest.raises(BadKey, match="binary key"):
        checked(key)


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("/src/a/../b.c", "/src/b.c"),
        ("./x.c", "x.c"),
        ("/src//a.c", "/src/a.c"),
        ("../up.c", "../up.c"),
        ("<built-in>", "<built-in>"),
    ],
)
def test_a_source_has_one_spelling(path: str, stored: str):
    assert source_path(path) == stored


@given(st.text(max_size=3000))
def test_every_reason_can_be_stored(text: str):
    stored = sentence(text)
    assert stored.isprintable()
    assert len(stored) <= 2000
    stored.encode()


def test_a_name_does_nothing_to_a_terminal():
    assert sentence("lib\x1b[31m.so\n\u202e") == "lib [31m.so"
    assert sentence("größe – 3 µs") == "größe – 3 µs"


@given(st.text(alphabet="a字/\0", max_size=900), st.text(alphabet="a字/\0", max_size=900))
def test_the_kinds_of_sources_fit_and_differ(one: str, other: str):
    assert len(source_kind(one).encode()) <= 512
    assert (source_kind(one) == source_kind(other)) == (one == other)
