"""GIVEN a copy of the records of sign-in WHEN it is old or a reading fails THEN it decides nothing."""

from collections.abc import Collection
from datetime import UTC, datetime

import pytest

from services.api.access_records import OLDEST_S, RecordCopy, Records
from storage.errors import DatabaseUnavailable
from tests.access_records import MemoryAccessRecords


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class UnsteadyRecords(MemoryAccessRecords):
    """A database that may be away, and the records written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.used: list[frozenset[int]] = []

    def read(self, used_tokens: Collection[int]) -> Records:
        if self.away:
            raise DatabaseUnavailable("away")
        self.used.append(frozenset(used_tokens))
        return super().read(used_tokens)


def test_an_old_copy_decides_nothing():
    clock, records = Clock(), UnsteadyRecords()
    copy = RecordCopy(records, clock)
    assert not copy.is_current, "nothing was read yet"
    copy.refresh()
    clock.now += OLDEST_S
    assert copy.is_current
    records.away = True
    with pytest.raises(DatabaseUnavailable):
        copy.refresh()
    clock.now += 1
    assert not copy.is_current
    records.away = False
    copy.refresh()
    assert copy.is_current


def test_what_was_used_is_noted_once_also_after_a_failure():
    records = UnsteadyRecords()
    copy = RecordCopy(records)
    copy.note_use(7)
    records.away = True
    with pytest.raises(DatabaseUnavailable):
        copy.refresh()
    records.away = False
    copy.refresh()
    copy.refresh()
    assert records.used == [frozenset({7}), frozenset()]


def test_a_session_that_ends_here_has_ended_when_the_call_returns():
    copy = RecordCopy(MemoryAccessRecords())
    copy.refresh()
    copy.end_session("n", datetime.now(UTC))
    assert copy.has_ended("n")
    assert not copy.has_ended("m")
