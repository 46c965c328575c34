"""What is remembered is what was told, and never more than agreed."""

import tracemalloc
import weakref
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.ingest.hash_table import UNKNOWN, HashTable, Ids
from storage.ingest.id_cache import HashIdCache, IdCache, ObjectIdCache

LIMIT = 40
hashes = st.lists(
    st.tuples(st.integers(0, 20).map(lambda n: n * 1024), st.integers(0, 3).map(lambda n: n << 32)),
    min_size=1,
    max_size=30,
    unique=True,
)


def ids(*numbers: int) -> Ids:
    return np.array(numbers, np.int32)


def objects_of(limit: int, turns: int) -> ObjectIdCache:
    return ObjectIdCache(limit, turns, size=lambda _: 1, size_limit=limit)


@settings(max_examples=80, deadline=None)
@given(st.lists(hashes, max_size=12))
def test_hashes_are_never_taken_for_others_and_the_latest_stay(batches: list[list[tuple[int, int]]]) -> None:
    """Home slots collide all the time; a dictionary is the second opinion."""
    with mock.patch.object(HashTable, "_home", lambda _, asked, slots: np.full(len(asked), slots - 2)):
        never_taken_for_others(batches)


def never_taken_for_others(batches: list[list[tuple[int, int]]]) -> None:
    memory = HashIdCache(LIMIT)
    told: dict[tuple[int, int], int] = {}
    latest: list[tuple[int, int]] = []
    for batch in batches:
        asked = np.array(batch, np.uint64)
        found = memory.ids(asked)
        for key, id_ in zip(batch, found.tolist(), strict=True):
            assert id_ in {UNKNOWN, told.get(key, UNKNOWN)}
            if key in latest:
                assert id_ == told[key], "the last of them are remembered"
        new = np.flatnonzero(found == UNKNOWN)
        ids = np.arange(1, len(new) + 1, dtype=np.int32) + 1000 * len(told)
        for index, id_ in zip(new.tolist(), ids.tolist(), strict=True):
            told[batch[index]] = id_
        memory.add(asked[new], ids)
        latest = [key for key in latest if key not in batch] + batch
        latest = latest[-10:]
    memory.clear()
    assert not any(memory.ids(np.array(batch, np.uint64)).any() for batch in batches)


def test_more_than_the_limit_at_once_leaves_a_part() -> None:
    memory = HashIdCache(LIMIT)
    many = np.column_stack([np.arange(1000, dtype=np.uint64)] * 2)
    memory.add(many, np.arange(1, 1001, dtype=np.int32))
    found = memory.ids(many[-LIMIT:])
    assert found.tolist() == list(range(1001 - LIMIT, 1001))
    assert int((memory.ids(many[: -2 * LIMIT]) != UNKNOWN).sum()) == 0


def test_a_table_grows_with_what_it_holds() -> None:
    memory = HashIdCache(100_000)
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 1 << 63, (50_000, 2), dtype=np.uint64)
    for part in np.array_split(np.arange(50_000), 7):
        memory.add(keys[part], (part + 1).astype(np.int32))
    assert memory.ids(keys).tolist() == list(range(1, 50_001))


def test_keys_that_are_asked_for_stay_and_others_are_forgotten() -> None:
    memory = IdCache(10)
    memory.add(["first"], [100])
    for n in range(50):
        memory.add([("label", f"value {n}")], [n + 1])
        assert memory.ids(["first", "first"]) == [100, 100], "it is asked for again and again"
    assert memory.ids([("label", "value 49")]) == [50]
    known = memory.ids([("label", f"value {n}") for n in range(50)])
    assert sum(id_ is not None for id_ in known) <= 20
    memory.clear()
    assert memory.ids(["first"]) == [None]


def test_no_key_is_taken_for_another() -> None:
    memory = IdCache(100)
    keys = [("a", "b"), ("a\0b",), "a", ("a", None), ("a", 0), ("\udc80",), ("?",), ("a", "b", "")]
    memory.add(keys, range(1, len(keys) + 1))
    assert memory.ids(keys[::-1]) == list(range(len(keys), 0, -1))
    assert memory.ids([("b", "a")]) == [None]


def test_what_is_remembered_takes_no_more_the_longer_its_keys_are() -> None:
    """The label sets of containers, of which there is a new one every second: 40 MiB an hour when kept as they are."""
    memory = IdCache(1_000)
    tracemalloc.start()
    try:
        for n in range(30):
            memory.add([(("container", f"{n}/{i}" + "x" * 1000),) for i in range(500)], range(1, 501))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(memory) <= 2_000
    assert memory.nbytes == 2 * 2048 * 16
    assert held < 2 * memory.nbytes


def test_objects_are_told_apart_although_they_are_equal() -> None:
    memory = objects_of(3, turns=100)
    one, other = ("a", 1.5), tuple(["a", 1.5])  # noqa: C409 - a second object
    memory.add([one], ids(7))
    assert memory.ids([one, other]).tolist() == [7, UNKNOWN]
    memory.add([other, object(), object()], ids(8, 9, 10))
    assert memory.ids([one, other, one]).tolist() == [7, 8, 7], "the older generation is there still"
    memory.add([object(), object(), object()], ids(11, 12, 13))
    assert memory.ids([one, other]).tolist() == [7, UNKNOWN], "what was asked for is young again"


def test_objects_met_once_are_let_go() -> None:
    class Name:
        """Something that can be seen to go."""

    memory, alive, kept = objects_of(10, turns=1000), weakref.WeakSet(), Name()
    for n in range(100):
        once = [Name() for _ in range(4)]
        alive.update(once)
        assert not memory.ids(once).any()
        memory.add(once, ids(1, 2, 3, 4))
        if not memory.ids([kept]).any():
            assert n == 0, "it was asked for each time"
            memory.add([kept], ids(77))
        del once
        assert len(memory) <= 20
        assert len(alive) <= 20
    assert memory.ids([kept, kept]).tolist() == [77, 77]


def test_objects_that_nobody_asks_for_are_let_go_after_some_questions_though_there_is_room() -> None:
    class Name:
        """Something that can be seen to go."""

    memory, kept, once = objects_of(1000, turns=4), Name(), Name()
    gone = weakref.ref(once)
    memory.add([kept, once], ids(7, 8))
    del once
    for _ in range(5):
        assert memory.ids([kept]).tolist() == [7]
    assert gone() is not None
    for _ in range(5):
        assert memory.ids([kept]).tolist() == [7]
    assert gone() is None
    assert len(memory) <= 2


def test_large_objects_are_let_go_before_they_are_many() -> None:
    class Text(str):
        """A name that can be seen to go."""

        __slots__ = ("__weakref__",)

    memory = ObjectIdCache(1000, turns=1000, size=len, size_limit=100)
    alive: weakref.WeakSet[Text] = weakref.WeakSet()
    kept = Text("kept")
    memory.add([kept], ids(7))
    for n in range(60):
        once = [Text("x" * (n % 40) + str(n)) for _ in range(2)]
        alive.update(once)
        memory.add(once, ids(1, 2))
        assert memory.ids([once[1], kept]).tolist() == [2, 7], "what is asked for stays"
        del once
        assert sum(map(len, alive)) <= 200
    # Of more at once than there is room for the last stay; of one too large nothing does.
    many = [Text("y" * 30) for _ in range(10)]
    memory.add(many, ids(*range(1, 11)))
    assert memory.ids(many).tolist()[-3:] == [8, 9, 10]
    assert not memory.ids(many[:4]).any()
    memory.add([huge := Text("z" * 101)], ids(9))
    assert memory.ids([huge]).tolist() == [UNKNOWN]
