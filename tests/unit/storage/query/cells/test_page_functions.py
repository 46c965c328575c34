"""GIVEN cells that are kept decoded WHEN a page shows functions that are not known of them THEN these are read, within bounds."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from sqlalchemy import Connection

from storage.arrays import Int64
from storage.errors import BudgetExceeded, QuestionDropped
from storage.query.cells import block_source, raw_blocks
from storage.query.cells.block_source import BlockKey, BlockSource, Key
from storage.query.cells.blocks import ClosedBlock, OpenBlock
from storage.query.cells.long_blocks import ClosedBlocks
from storage.query.cells.raw_blocks import OpenBlocks
from storage.rollup import long_moments_codec, moments_codec, unpacked_moments, visit_list_codec
from storage.rollup.cubes import DAY, EVENT, Source
from storage.rollup.long_moments import Parts
from storage.rollup.long_moments_codec import WeightedMoments
from storage.rollup.moments import Sums
from storage.rollup.read_cells import Cells, Functions, WeightedCells
from storage.rollup.time_cover import Cover
from storage.rollup.unpacked_moments import Unpacked
from storage.rollup.visit_lists import VisitLists
from storage.snapshots.decoded_cache import DecodedCache
from storage.snapshots.query_budget import Budget, Limits, Stop

SOURCE = Source(EVENT, 1, True, 1)
NO_FACTS = (np.zeros(0, np.int64),) * 2
FUNCTIONS = 40
DAYS = (1, 2, 3, 4)
BUCKETS = tuple((1, bucket) for bucket in DAYS)
COVER = Cover(days=DAYS, weighted=BUCKETS)
RARE, RARER = 30, 31
"""Functions; those with lower numbers have more units."""


def own_of(day: int) -> Int64:
    """Units of functions 1, 2, … on a day."""
    return (np.arange(FUNCTIONS)[::-1] + 1) * day


def a_visit(day: int) -> bytes:
    own = own_of(day)
    y, n = own.astype(np.float64), len(own)
    x, one, visits = np.array([y.sum()]), np.ones(1, np.int64), np.ones(n, np.int64)
    arguments: list[Any] = [one, one, one, x, x**2, x**4, x**2, n * one, np.arange(n) + 1]
    arguments += [visits, visits, own, own, y**2, y**2, x * y, x * y, y**4, y**4]
    return moments_codec.encode(Sums(*arguments))[0]


def visits_one_by_one(day: int) -> bytes:
    """As many visits as there are units of the first function, each with a unit of all functions that have as many left."""
    own = own_of(day)
    number = np.repeat(np.arange(FUNCTIONS) + 1, own)
    visit = np.concatenate([np.arange(units) for units in own])
    visits = int(own.max())
    one = np.ones(visits, np.int64)
    x = np.bincount(visit).astype(np.int64)
    unit = np.ones(len(number), np.int64)
    lists = VisitLists(np.ones(1, np.int64), 0 * one, one, one, x, x, visit, number, unit, unit)
    head = moments_codec.HEAD.pack(moments_codec.VERSION, visit_list_codec.KIND, len(number), 1)
    return head + visit_list_codec.encode(lists)[0]


def a_bucket(bucket: int) -> bytes:
    own, n = own_of(bucket), FUNCTIONS
    one, y = np.ones(1), own.astype(np.float64)
    number = np.arange(n) + 1
    bits = np.ones(1, np.int64)
    arguments: list[Any] = [bits, *(one,) * 7, n * bits, number, number, number]
    arguments += [*(y,) * 10, own, own]
    return long_moments_codec.encode(Parts(*arguments))[0]


class Store:
    """Days and buckets of these blobs, and what was read of them."""

    def __init__(self, kept: DecodedCache, k1: tuple[int, ...] | None = None, *, day: Any = a_visit) -> None:
        self.read: list[list[Key]] = []
        self.of = self._source(kept, k1, day)

    def _source(self, kept: DecodedCache, k1: tuple[int, ...] | None, day: Any) -> BlockSource:
        read = self.read

        class Given(BlockSource):
            def open(self, keys: Sequence[Key], functions: Functions) -> Cells:
                if functions is Functions.LATER:
                    read.append(list(keys))
                blobs = [day(bucket) for _, bucket in keys]
                bucket = np.array([bucket for _, bucket in keys], np.int64)
                one = np.ones(len(bucket), np.int64)
                heads, unpacked = moments_codec.decode_heads(blobs), Unpacked(blobs)
                return Cells(
                    *(one, one, 0 * one, bucket, *(one,) * 5, one, 0 * one, *NO_FACTS, heads, unpacked, one)
                )

            def closed(self, keys: Sequence[Key], functions: Functions) -> WeightedCells:
                if functions is Functions.LATER:
                    read.append(list(keys))
                blobs = [a_bucket(bucket) for _, bucket in keys]
                bucket = np.array([bucket for _, bucket in keys], np.int64)
                one = np.ones(len(bucket), np.int64)
                heads, unpacked = long_moments_codec.decode_heads(blobs), WeightedMoments(blobs)
                doubles = one.astype(np.float64)
                columns = (one, bucket, *(one,) * 6, doubles, 0 * one, *NO_FACTS, np.zeros(0))
                return WeightedCells(*columns, heads, unpacked, one)

        return Given(cast(Connection, None), kept, SOURCE, k1)


def wanted(*functions: int) -> Any:
    mask = np.zeros(FUNCTIONS + 1, np.bool_)
    mask[list(functions)] = True
    return mask


@pytest.fixture(autouse=True)
def few_are_hot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_source, "HOT", 2)


@pytest.fixture
def kept() -> DecodedCache:
    """All there is, of no function more than sums."""
    made = DecodedCache(1 << 30)
    of = Store(made).of
    OpenBlocks(of, COVER)
    ClosedBlocks(of, COVER)
    return made


def kept_block(kept: DecodedCache, key: Key) -> OpenBlock | ClosedBlock:
    block = kept.get(ClosedBlock if key in BUCKETS else OpenBlock, BlockKey(SOURCE, None, *key))
    assert block is not None
    return block


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize(("most", "parts"), [(1, 4), (1 << 20, 1)])
def test_what_a_page_lacks_is_read_a_part_at_a_time(
    kept: DecodedCache, monkeypatch: pytest.MonkeyPatch, most: int, parts: int, *, closed: bool
) -> None:
    monkeypatch.setattr(block_source, "PART_BYTES", most)
    store = Store(kept)
    if closed:
        found: Any = ClosedBlocks(store.of, COVER).of_functions(wanted(RARE))
        expected = long_moments_codec.decode([a_bucket(bucket) for _, bucket in BUCKETS], wanted(RARE))
    else:
        found = OpenBlocks(store.of, COVER).of_functions(wanted(RARE))
        expected = unpacked_moments.decode([a_visit(day) for day in DAYS], wanted(RARE)).in_units()
    assert found.own.tolist() == expected.own.tolist()
    assert found.function.tolist() == [RARE] * len(DAYS)
    assert len(store.read) == parts
    assert [key for part in store.read for key in part] == (
        list(BUCKETS) if closed else [(DAY, day) for day in DAYS]
    )


@pytest.mark.parametrize(("kind", "unpacks"), [(OpenBlocks, Unpacked), (ClosedBlocks, WeightedMoments)])
def test_what_a_page_lacks_is_counted_before_it_is_unpacked(
    kept: DecodedCache, monkeypatch: pytest.MonkeyPatch, kind: Any, unpacks: Any
) -> None:
    def never(*_: object) -> Any:
        raise AssertionError

    blocks = kind(Store(kept).of, COVER)
    monkeypatch.setattr(unpacks, "sums" if unpacks is Unpacked else "parts", never)
    with Budget(Limits(bytes=100)).running(), pytest.raises(BudgetExceeded) as caught:
        blocks.of_functions(wanted(RARE))
    assert caught.value.limit == "memory"


@pytest.mark.parametrize(("kind", "unpacks"), [(OpenBlocks, Unpacked), (ClosedBlocks, WeightedMoments)])
def test_whoever_goes_away_is_noticed_between_blocks(
    kept: DecodedCache, monkeypatch: pytest.MonkeyPatch, kind: Any, unpacks: Any
) -> None:
    budget, times = Budget(Limits()), 0
    name = "sums" if unpacks is Unpacked else "parts"
    unpack = getattr(unpacks, name)

    def then_left(*arguments: Any) -> Any:
        nonlocal times
        times += 1
        budget.stop(Stop.DROPPED)
        return unpack(*arguments)

    blocks = kind(Store(kept).of, COVER)
    monkeypatch.setattr(unpacks, name, then_left)
    with budget.running(), pytest.raises(QuestionDropped):
        blocks.of_functions(wanted(RARE))
    assert times == 1


@pytest.mark.parametrize(("kind", "key"), [(OpenBlocks, (DAY, 2)), (ClosedBlocks, (1, 2))])
def test_the_hot_functions_are_known_always_and_those_of_the_last_page(
    kept: DecodedCache, kind: Any, key: Key
) -> None:
    for page in (RARE, RARER):
        kind(Store(kept).of, COVER).of_functions(wanted(page))
        assert kept_block(kept, key).known.tolist() == [1, 2, page]
        store = Store(kept)
        kind(store.of, COVER).of_functions(wanted(1, 2, page))
        assert store.read == []


@pytest.mark.parametrize(("kind", "key"), [(OpenBlocks, (DAY, 2)), (ClosedBlocks, (1, 2))])
def test_a_large_page_leaves_what_is_kept_as_it_was(
    kept: DecodedCache, monkeypatch: pytest.MonkeyPatch, kind: Any, key: Key
) -> None:
    kind(Store(kept).of, COVER).of_functions(wanted(RARE))
    before = kept_block(kept, key)
    monkeypatch.setattr(block_source, "MOST_KNOWN", 5)
    large = wanted(*range(5, FUNCTIONS + 1))
    found = kind(Store(kept).of, COVER).of_functions(large)
    assert found.function.tolist() == len(DAYS) * list(range(5, FUNCTIONS + 1))
    assert kept_block(kept, key) is before


def test_what_is_hot_is_not_asked_before_a_page_shows_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of applications shows none."""

    def never(*_: object) -> Any:
        raise AssertionError

    monkeypatch.setattr(block_source, "hottest", never)
    of = Store(DecodedCache(1 << 30)).of
    OpenBlocks(of, COVER)
    ClosedBlocks(of, COVER)


def test_room_for_a_block_is_taken_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> Any:
        raise AssertionError

    size = Unpacked([a_visit(day) for day in DAYS]).size
    monkeypatch.setattr(Unpacked, "amounts", never)
    # All that is unpacked fits, but not what is made of it.
    with Budget(Limits(bytes=size)).running(), pytest.raises(BudgetExceeded):
        OpenBlocks(Store(DecodedCache(1 << 30), (1,)).of, COVER)


@pytest.mark.parametrize("held", [0, 1 << 30])
def test_visits_are_added_up_as_they_are_unpacked(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    """Thousands of visits have forty functions: what takes room in the end is these."""
    monkeypatch.setattr(raw_blocks, "_HELD_BYTES", held)
    expected = [
        s.own.tolist() for s in OpenBlocks(Store(DecodedCache(0)).of, COVER).amounts(np.ones(len(DAYS)))
    ]
    days = {day: visits_one_by_one(day) for day in DAYS}
    size = max(Unpacked([blob]).size for blob in days.values())
    for module, name in ((raw_blocks, "_AT_ONCE"), (unpacked_moments, "_PAIRS_AT_ONCE")):
        monkeypatch.setattr(module, name, 1)
    entries = block_source.ENTRY_BYTES * int(sum(own_of(max(DAYS))))
    limit = size + entries + 100_000 + (size if held else 0)
    with Budget(Limits(bytes=limit)).running():
        blocks = OpenBlocks(Store(DecodedCache(0), (1,), day=days.__getitem__).of, COVER)
        amounts = list(blocks.amounts(np.ones(len(DAYS))))
        squares = blocks.of_functions(wanted(RARE))
    assert np.sum([one.own for one in amounts], axis=0).tolist() == np.sum(expected, axis=0).tolist()
    assert squares.own.tolist() == [int(own_of(day)[RARE - 1]) for day in DAYS]


@pytest.mark.parametrize(("most", "blocks"), [(1, 4), (2 * FUNCTIONS, 2), (1 << 20, 1)])
def test_days_that_are_not_kept_are_blocks_of_a_bounded_size(
    monkeypatch: pytest.MonkeyPatch, most: int, blocks: int
) -> None:
    monkeypatch.setattr(block_source, "TOGETHER_ROWS", most)
    kept = DecodedCache(1 << 30)
    found = OpenBlocks(Store(kept, (1,)).of, COVER)
    weight = found.cells.bucket.astype(np.float64)
    amounts = list(found.amounts(weight))
    assert len(amounts) == blocks
    assert np.sum([one.own_weight for one in amounts], axis=0).tolist() == [
        sum(day * int(own_of(day)[f]) for day in DAYS) for f in range(FUNCTIONS)
    ]
    assert sorted(found.of_functions(wanted(RARE)).own.tolist()) == [
        int(own_of(day)[RARE - 1]) for day in DAYS
    ]
    assert kept.size.rows == 0


def test_what_is_kept_of_a_bucket_holds_nothing_besides(kept: DecodedCache) -> None:
    """Neither columns of other buckets nor those of the table it was cut from."""
    for key in BUCKETS:
        block = kept_block(kept, key)
        assert isinstance(block, ClosedBlock)
        for name in block.sums.__slots__:
            column = getattr(block.sums, name)
            assert column.base is None or column.base.nbytes == column.nbytes
            assert len(column) == FUNCTIONS


def test_a_question_is_charged_alike_whatever_is_cached(kept: DecodedCache) -> None:
    """Else it were exact or approximate by what others asked before."""

    def taken(cache: DecodedCache) -> tuple[int, int]:
        budget, store = Budget(Limits()), Store(cache)
        with budget.running():
            OpenBlocks(store.of, COVER)
            ClosedBlocks(store.of, COVER)
        return budget.limits.bytes - budget.bytes_left, len(store.read)

    (first, read), (again, read_again) = taken(DecodedCache(0)), taken(kept)
    assert (read, read_again) == (2, 0)
    stored = sum(len(blob) for blob in (*map(a_visit, DAYS), *(a_bucket(bucket) for _, bucket in BUCKETS)))
    assert again == first + stored, "what the made store reads costs nothing"
