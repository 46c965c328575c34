"""New stacks go in by COPY; those that somebody else inserted meanwhile keep their ids."""

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, func, select

from storage.ingest import stack_rows
from storage.ingest.stack_rows import Ids, StackRows, insert_stacks
from storage.schema import stack
from storage.snapshots.stack_reading import read_stacks
from tests.dictionary_stacks import functions_by_stack

pytestmark = pytest.mark.integration


def rows_of(stacks: list[list[int]], first: int = 0) -> StackRows:
    numbers = np.arange(first, first + len(stacks))
    hashes = np.stack((numbers * 7 % 11, numbers), axis=1).astype(np.uint64)
    return StackRows(
        np.arange(len(stacks)),
        hashes,
        np.array([len(s) for s in stacks]),
        np.array([f for s in stacks for f in s], np.int32),
    )


STACKS = [[1, 2, 300], [70_000], [1, 2, 300, 2_000_000_000], [5] * 128, [4, 3]]


def test_stacks_come_back_as_they_went_in(engine: Engine) -> None:
    with engine.begin() as connection:
        ids = insert_stacks(connection, rows_of(STACKS), note=False)
        assert (insert_stacks(connection, rows_of(STACKS), note=False) == ids).all()
        found, functions, lengths = read_stacks(connection, ids.astype(np.int64), limit=1 << 20)
        everything, _, _ = read_stacks(connection, None, limit=1 << 20)
    parts = np.split(functions, np.cumsum(lengths)[:-1])
    stacks = {id_: part.tolist() for id_, part in zip(found.tolist(), parts, strict=True)}
    assert [stacks[id_] for id_ in ids.tolist()] == STACKS
    assert sorted(everything.tolist()) == sorted(ids.tolist())


def test_stacks_of_somebody_else_are_found_when_they_are_in_the_way(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine.begin() as connection:
        theirs = insert_stacks(connection, rows_of(STACKS[:3]), note=False)
    look_up = stack_rows._look_up
    missed = []

    def too_early(connection: Connection, ids: Ids) -> None:
        """As if they had been inserted between the first look and the COPY."""
        if missed:
            look_up(connection, ids)
        missed.append(None)

    monkeypatch.setattr(stack_rows, "_look_up", too_early)
    with engine.begin() as connection:
        ids = insert_stacks(connection, rows_of(STACKS), note=False)
        there = connection.scalar(select(func.count()).select_from(stack))
        rows = functions_by_stack(connection)
    assert len(missed) == 2
    assert ids[:3].tolist() == theirs.tolist()
    assert there == len(set(ids.tolist())) == len(STACKS)
    assert [rows[id_] for id_ in ids.tolist()] == STACKS
