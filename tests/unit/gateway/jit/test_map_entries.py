"""GIVEN the text of a perf map WHEN an address is looked for THEN the last line that covers it names it."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.jit.map_entries import MAX_NAME, MAX_SIZE, Entries, name_in


def read(text: bytes, *cuts: int, limit: int = 1000) -> Entries:
    entries = Entries(limit=limit)
    for begin, end in zip((0, *cuts), (*cuts, len(text)), strict=True):
        entries.feed(text[begin:end])
        if (begin + end) % 3:
            entries.index()
    entries.index()
    return entries


def name(text: bytes, entries: Entries, address: int) -> str:
    line = entries.find(address)
    return "" if line is None else name_in(text[line:], address)


def slowly(text: bytes, address: int) -> str:
    """The definition: of all whole lines that cover the address the last."""
    found = ""
    for line in text.split(b"\n")[:-1]:
        start, size, called = line.split(b" ", 2)
        if int(start, 16) <= address < int(start, 16) + int(size, 16):
            found = called.decode()
    return found


lines = st.lists(
    st.tuples(
        st.integers(0x1000, 0x9000) | st.integers((1 << 47) - 0x3000, 1 << 47),
        st.integers(1, 0x40) | st.integers(1, 0x100000) | st.just(MAX_SIZE),
    ),
    max_size=40,
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(lines, st.lists(st.integers(0, 2000), max_size=4), st.lists(st.integers(0, 0xFFFF), max_size=20))
def test_the_last_line_wins_wherever_reading_was_interrupted(made, cuts, steps):
    text = b"".join(b"%x %x f%d of it\n" % (start, size, n) for n, (start, size) in enumerate(made))
    entries = read(text, *sorted(min(cut, len(text)) for cut in cuts))
    assert len(entries) == len(made)
    asked = [edge for start, size in made for edge in (start - 1, start, start + size - 1, start + size)]
    for address in [*asked, *(0x1000 + step for step in steps)]:
        assert name(text, entries, address) == slowly(text, address)


def test_a_line_counts_once_it_is_whole():
    entries = Entries(limit=10)
    entries.feed(b"1000 10 fi")
    assert entries.find(0x1000) is None
    entries.feed(b"b\n2000 8 run\n")
    entries.index()
    assert list(entries.ranges(0)) == [(0x1000, 0x1010), (0x2000, 0x2008)]
    assert list(entries.ranges(1)) == [(0x2000, 0x2008)]
    assert entries.find(0x1008) == 0
    assert entries.find(0x2000) == len("1000 10 fib\n")


def test_reading_may_begin_within_a_line():
    text = b"1000 10 lost\n2000 10 found\n"
    entries = Entries(limit=10, position=3)
    entries.feed(text[3:8])
    entries.feed(text[8:])
    entries.index()
    assert entries.find(0x1000) is None
    assert name(text, entries, 0x2000) == "found"


def test_what_is_out_of_form_is_passed_over():
    bad = [
        b"", b" ", b"1000", b"1000 10", b"zz 10 name", b"1000 zz name", b"-5 10 name", b"1000 -10 name",
        b"1000 0 name", b"1000 %x name" % (MAX_SIZE + 1), b"ffffffffffffffff 2 name", b"%s 1 name" % (b"f" * 500),
    ]  # fmt: skip
    text = b"\n".join([*bad, b"2000 10 good\n"])
    entries = read(text)
    assert len(entries) == 1
    assert name(text, entries, 0x2000) == "good"


def test_what_does_not_end_is_not_kept():
    entries = Entries(limit=10)
    for _ in range(100):
        entries.feed(b"x" * 10_000)
    entries.feed(b" tail\n3000 10 next\n")
    entries.index()
    assert len(entries) == 1
    assert entries.find(0x3000) == 1_000_000 + len(" tail\n")


def test_no_more_lines_are_kept_than_allowed():
    entries = read(b"".join(b"%x 1 f\n" % n for n in range(1, 100)), limit=20)
    assert len(entries) == 20
    assert entries.full


@pytest.mark.parametrize("line", [b"%x 7d000 a\n", b"%x 1 a\n", b"7000000 100000 %d\n"])
def test_what_a_line_costs_does_not_depend_on_what_it_covers(line: bytes):
    """500 KiB each were 64 notes a line, and 8300 lines over one address as many looks for each address there."""
    text = b"".join(line % (0x100000000 + n * 0x80000) for n in range(5000))
    tracemalloc.start()
    try:
        entries = read(text, limit=5000)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(entries) == 5000
    assert kept < 5000 * 60
    assert (1 << 62) - entries.steps == 5000 * 2


def test_lines_that_come_one_by_one_are_seldom_put_in_order_anew():
    entries = Entries(limit=1000)
    for n in range(1000):
        entries.feed(b"%x 10 f\n" % (0x1000 + n * 8))
        entries.index()
        assert name(b"".join(b"%x 10 f\n" % (0x1000 + n * 8) for n in range(n + 1)), entries, 0x1000 + n * 8)
    assert (1 << 62) - entries.steps < 1000 * 12


def test_what_is_spent_has_an_end():
    entries = Entries(limit=1000, steps=200)
    entries.feed(b"\n" * 60 + b"1000 10 f\n" * 30)
    entries.index()
    entries.feed(b"2000 10 f\n" * 60)
    assert not entries.full
    assert entries.steps == 20
    entries.index()
    assert entries.full, "putting them in order would cost more than there is"
    assert entries.find(0x1000) is not None
    assert entries.find(0x2000) is None
    entries.feed(b"\n" * 50)
    assert entries.steps == 0


def test_the_jdk_writes_0x():
    line = b"0x00007f40a8ec7640 0x0000000000000130 int W.fib(int)\n"
    assert name_in(line, 0x7F40A8EC7640) == "int W.fib(int)"


def test_a_name_is_of_printable_characters_and_not_too_long():
    assert name_in(b"1000 10 a\x1b[31m\x00\xff\n", 0x1000) == "a\ufffd[31m\ufffd\ufffd"
    assert len(name_in(b"1000 10 " + b"n" * 5000, 0x1000)) == MAX_NAME
    assert name_in(b"1000 10 other\n", 0x2000) == ""
    assert name_in(b"", 0x2000) == ""
