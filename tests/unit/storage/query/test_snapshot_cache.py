"""GIVEN a snapshot WHEN the same is asked of it twice THEN it is read once, and of another snapshot anew."""

from unittest.mock import Mock

import pytest
from sqlalchemy import Connection

from storage.snapshots.snapshot_cache import cached_per_snapshot, caching_snapshot

reads: list[tuple[Connection, int, bool]] = []


@cached_per_snapshot
def doubled(connection: Connection, number: int, *, fails: bool = False) -> int:
    reads.append((connection, number, fails))
    if fails:
        raise ValueError(number)
    return 2 * number


@pytest.fixture(autouse=True)
def nothing_read() -> None:
    reads.clear()


def a_connection() -> Connection:
    return Mock(Connection)


def test_the_same_is_read_once() -> None:
    connection = a_connection()
    with caching_snapshot(connection):
        assert [doubled(connection, n) for n in (1, 2, 1, 2)] == [2, 4, 2, 4]
    assert [number for _, number, _ in reads] == [1, 2]


def test_another_snapshot_says_it_anew() -> None:
    one, other = a_connection(), a_connection()
    for connection in (one, other, one):
        with caching_snapshot(connection):
            doubled(connection, 1)
    with caching_snapshot(one):
        doubled(one, 1)
        doubled(other, 1)
        doubled(other, 1)
    assert [connection for connection, _, _ in reads] == [one, other, one, one, other, other]


def test_without_a_snapshot_nothing_is_remembered() -> None:
    connection = a_connection()
    assert doubled(connection, 3) == doubled(connection, 3) == 6
    assert len(reads) == 2


def test_errors_are_not_remembered() -> None:
    connection = a_connection()
    with caching_snapshot(connection):
        for _ in range(2):
            with pytest.raises(ValueError, match="3"):
                doubled(connection, 3, fails=True)
        assert doubled(connection, 3) == 6
    assert len(reads) == 3
