"""A table of hashes against a dictionary, crowded, crafted, and when memory ends."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.ingest.hash_table import UNKNOWN, HashTable, Ids
from storage.ingest.stack_hash import Hashes

_LARGEST = (1 << 64) - 1


def distinct(count: int, seed: int = 1) -> Hashes:
    return np.random.default_rng(seed).integers(0, _LARGEST, (count, 2), np.uint64, endpoint=True)


def numbered(count: int, first: int = 1) -> Ids:
    return np.arange(first, first + count, dtype=np.int32)


@settings(deadline=None)
@given(st.lists(st.integers(0, 900), max_size=5), st.integers(0, 1000))
def test_every_hash_has_its_id_and_no_other_is_there(sizes: list[int], seed: int) -> None:
    table, known = HashTable(), distinct(sum(sizes), seed)
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    for size, end in zip(sizes, ends, strict=True):
        table.add(known[end - size : end], numbered(size, end - size + 1))
        assert table.find(known).tolist() == [*range(1, end + 1), *[UNKNOWN] * (len(known) - end)]
    assert table.used == len(known)
    near = known ^ np.array([0, 1 << 63], np.uint64)
    assert not table.find(near).any()


@pytest.mark.parametrize(("word", "bit"), [(0, 0), (0, 20), (0, 28), (0, 44), (1, 32), (1, 44)])
def test_hashes_that_share_most_bits_are_spread_over_the_slots(word: int, bit: int) -> None:
    """Of two functions that call each other there are stacks that share the low 28 bits, whatever the ids."""
    crafted = np.zeros((20_000, 2), np.uint64)
    crafted[:, word] = np.arange(20_000, dtype=np.uint64) << np.uint64(bit)
    crafted[:, word] ^= np.uint64(0x0123_4567_89AB_CDEF)
    table = HashTable()
    table.add(crafted, numbered(20_000))
    homes = table._home(crafted, len(table._slots))
    assert (homes.min() >= 0, homes.max() < len(table._slots)) == (True, True)
    # Chance gives the fullest of 32 768 slots 6 or 7 of them.
    assert np.bincount(homes).max() <= 20
    assert table.find(crafted).tolist() == list(range(1, 20_001))


def test_no_two_tables_have_their_slots_alike() -> None:
    asked = distinct(1000)
    one, other = (table._home(asked, 1 << 20) for table in (HashTable(), HashTable()))
    assert (one == other).mean() < 0.1


def failing_at(number: int, real: Callable[..., Any]) -> Callable[..., Any]:
    """As `real`, but memory ends at the call of this number, from 0."""
    calls = iter(range(1 << 30))

    def called(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == number:
            raise MemoryError
        return real(*args, **kwargs)

    return called


@pytest.mark.parametrize(
    ("name", "number"), [("zeros", 0), ("flatnonzero", 0), ("flatnonzero", 2), ("take", 1)]
)
@pytest.mark.parametrize("more", [50, 5000])
def test_when_memory_ends_the_table_holds_what_it_held(
    name: str, number: int, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50 more fit in, 5000 make it grow: while arrays are made, while entries move, or later."""
    table, known = HashTable(), distinct(700 + more)
    table.add(known[:700], numbered(700))
    with monkeypatch.context() as patched:
        patched.setattr(np, name, failing_at(number, getattr(np, name)))
        try:
            table.add(known[700:], numbered(more, 701))
        except MemoryError:
            failed = True
        else:
            failed = False
    found = table.find(known)
    assert found[:700].tolist() == list(range(1, 701))
    assert set(found[700:].tolist()) <= {UNKNOWN, *range(701, 701 + more)}
    if more > 50:
        assert failed
    # And whoever tries again is told no other ids.
    missing = np.flatnonzero(found == UNKNOWN)
    table.add(known[missing], missing.astype(np.int32) + 1)
    assert table.find(known).tolist() == list(range(1, 701 + more))
    assert table.used >= 700 + more
