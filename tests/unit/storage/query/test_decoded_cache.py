"""GIVEN values that were decoded WHEN they are looked up THEN the latest ones are there, within the budget."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.arrays import Int64
from storage.snapshots.decoded_cache import DecodedCache


@dataclass(frozen=True)
class Values:
    column: Int64


@dataclass(frozen=True)
class Others:
    column: Int64


def values(size: int) -> Values:
    """Of so many bytes."""
    return Values(np.zeros(size // 8, np.int64))


def test_a_value_is_found_by_its_key_and_type() -> None:
    cache, one = DecodedCache(1 << 20), values(80)
    assert cache.get(Values, "a") is None
    cache.put("a", one)
    assert cache.get(Values, "a") is one
    assert cache.get(Others, "a") is None
    assert cache.get(Values, "b") is None
    assert (cache.has("a"), cache.has("b")) == (True, False)


def test_the_least_recently_used_is_evicted() -> None:
    cache = DecodedCache(5 * 80)
    for key in range(5):
        cache.put(key, values(80))
    assert cache.get(Values, 0) is not None
    cache.put(5, values(80))
    assert [cache.has(key) for key in range(6)] == [True, False, True, True, True, True]
    assert (cache.size.rows, cache.size.bytes) == (5, 400)


def test_a_value_of_more_than_a_quarter_leaves_the_one_before() -> None:
    cache, small = DecodedCache(400), values(80)
    cache.put("a", small)
    cache.put("a", values(200))
    assert cache.get(Values, "a") is small
    cache.put("b", values(200))
    assert (cache.size.rows, cache.size.bytes) == (1, 80)


def test_without_a_budget_nothing_is_cached() -> None:
    cache = DecodedCache(0)
    cache.put("a", values(8))
    assert cache.size.rows == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([8, 80, 96, 160])), max_size=40))
def test_bytes_are_those_of_the_values_there_are(puts: list[tuple[int, int]]) -> None:
    cache, last = DecodedCache(400), dict[int, int]()
    for key, size in puts:
        cache.put(key, values(size))
        if size <= 100:
            last[key] = size
        assert cache.size.bytes <= 400
    there = [key for key in range(6) if cache.has(key)]
    assert cache.size.bytes == sum(last[key] for key in there)
    cache.clear()
    assert (cache.size.rows, cache.size.bytes) == (0, 0)


@pytest.mark.parametrize("threads", [8])
def test_threads_share_it(threads: int) -> None:
    cache = DecodedCache(100 * 80)

    def work(seed: int) -> None:
        for key in np.random.default_rng(seed).integers(0, 200, 500).tolist():
            found = cache.get(Values, key)
            if found is None:
                cache.put(key, values(80))
            else:
                assert len(found.column) == 10

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    assert cache.size.rows == 100
    assert cache.size.bytes == 8000
