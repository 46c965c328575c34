"""GIVEN new stacks WHEN they are sealed THEN each is found by its hash as before, in a sixth of the bytes."""

from collections.abc import Callable
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine, func, select, text

from storage.dictionary_sweep import seal_stacks as sealing
from storage.dictionary_sweep.seal_stacks import seal_stacks
from storage.dictionary_sweep.sweep import sweep
from storage.ingest.interning import Interner
from storage.ingest.stack_rows import Ids, StackRows, insert_stacks
from storage.schema import stack, stack_sealed
from tests.dictionary_stacks import functions_by_stack, hashed_stacks
from tests.integration.dictionary_sweep.ingestions import broken, ingested, is_as_ingested, stored_stacks

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "_ROWS", 3)


def stacks(seed: int, count: int) -> StackRows:
    """Different stacks of one function, with the first of all hashes and the last."""
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 1 << 64, (count, 2), np.uint64)
    hashes[:2] = [[0, seed << 48], [(1 << 64) - 1, seed << 48]]
    return StackRows(
        np.arange(count), hashes, np.ones(count, np.int64), rng.integers(1, 1000, count).astype(np.int32)
    )


def inserted(engine: Engine, rows: StackRows) -> Ids:
    """Their ids, given or found."""
    with engine.begin() as connection:
        return insert_stacks(connection, rows, note=False)


def sizes(engine: Engine) -> tuple[int, int]:
    """Rows of `stack` and of `stack_sealed`."""
    with engine.connect() as connection:
        fresh, sealed = (
            connection.scalar(select(func.count()).select_from(table)) for table in (stack, stack_sealed)
        )
    return fresh or 0, sealed or 0


def test_stacks_are_found_whether_they_are_sealed_or_not(engine: Engine) -> None:
    kinds = [stacks(seed, count) for seed, count in ((1, 3000), (2, 900), (3, 5000))]
    ids = []
    for n, rows in enumerate(kinds):
        ids.append(inserted(engine, rows))
        assert seal_stacks(engine, least=1) == len(rows.depth)
        assert sizes(engine)[0] == 0
        for earlier, known in zip(kinds[: n + 1], ids, strict=True):
            assert (inserted(engine, earlier) == known).all()
    assert sizes(engine) == (0, sizes(engine)[1]), "none was taken for a new one"
    with engine.connect() as connection:
        assert hashed_stacks(connection) == set(functions_by_stack(connection))
        size = connection.scalar(select(func.sum(func.length(stack_sealed.c.data))))
    assert size == 14 * 8900
    assert len(np.unique(np.concatenate(ids))) == 8900


def test_few_new_stacks_stay_where_they_are(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "LEAST", 10)
    inserted(engine, stacks(1, 9))
    assert seal_stacks(engine) == 0
    inserted(engine, stacks(2, 3000))
    assert seal_stacks(engine) == 3009
    inserted(engine, stacks(3, 180))
    assert seal_stacks(engine) == 0, "fewer than a sixteenth"
    assert sizes(engine)[0] == 180
    inserted(engine, stacks(4, 100))
    assert seal_stacks(engine) == 280


def test_a_stack_that_comes_meanwhile_stays_for_the_next_time(engine: Engine) -> None:
    known = inserted(engine, stacks(1, 3000))
    moments: list[StackRows] = []

    def stopping() -> bool:
        moments.append(stacks(len(moments) + 2, 20))
        inserted(engine, moments[-1])
        return False

    moved = seal_stacks(engine, least=1, stopping=stopping)
    late = 20 * len(moments)
    assert 3000 < moved < 3000 + late, "some came into pieces that were still to come"
    assert sizes(engine)[0] == 3000 + late - moved
    before = [inserted(engine, rows) for rows in moments]
    assert sizes(engine)[0] == 3000 + late - moved
    assert seal_stacks(engine, least=1) == 3000 + late - moved
    assert (inserted(engine, stacks(1, 3000)) == known).all()
    assert [inserted(engine, rows).tolist() for rows in moments] == [ids.tolist() for ids in before]


@pytest.mark.parametrize("end", ["stopped", "table in use"])
def test_what_was_begun_is_finished_the_next_time(
    engine: Engine, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = stacks(1, 3000)
    ids = inserted(engine, rows)
    if end == "stopped":
        left = [False, False, True]
        assert seal_stacks(engine, least=1, stopping=lambda: left.pop(0)) == 0
    else:
        monkeypatch.setattr(sealing, "_LOCK_MS", 20)
        with engine.begin() as dump:
            dump.execute(text("LOCK TABLE stack IN ACCESS SHARE MODE"))
            assert seal_stacks(engine, least=1) == 0
    fresh, sealed = sizes(engine)
    assert fresh == 3000
    assert sealed > 0
    assert (inserted(engine, rows) == ids).all()
    assert seal_stacks(engine, least=1) == 3000
    assert sizes(engine)[0] == 0
    assert (inserted(engine, rows) == ids).all()


def test_nothing_is_sealed_while_the_dictionaries_are_swept(engine: Engine) -> None:
    inserted(engine, stacks(1, 300))
    sealed: list[int] = []
    sweep(engine, stopping=lambda: sealed.append(seal_stacks(engine, least=1)) is not None)
    assert sealed
    assert set(sealed) == {0}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seals", [lambda engine: seal_stacks(engine, least=1), lambda _: None])
def test_sealed_stacks_are_swept(
    engine: Engine, interner: Interner, two_days: tuple[UUID, UUID], seals: Callable[[Engine], None]
) -> None:
    seals(engine)
    with engine.connect() as connection:
        before = hashed_stacks(connection)
    used = set(stored_stacks(engine, two_days[1]))
    swept = sweep(engine)
    assert swept is not None
    assert swept.freed["stack"] == len(before - used) > 0
    assert broken(engine) == {}
    with engine.connect() as connection:
        assert hashed_stacks(connection) == used == set(functions_by_stack(connection))
    assert is_as_ingested(engine, two_days[1], 2)
    ingested(engine, Interner(engine), two_days[1], 2, generation=2)
    assert set(stored_stacks(engine, two_days[1])) == used
