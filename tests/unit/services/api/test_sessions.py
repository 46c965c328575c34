"""GIVEN sessions of two halves WHEN one half is missing, old, changed or ended THEN they prove nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.api import sessions
from services.api.access_records import RecordCopy
from services.api.sessions import (
    LONGEST_SECONDS,
    SESSION_SECONDS,
    Halves,
    Session,
    Sessions,
    cookie_header,
    cookie_name,
)
from tests.access_records import MemoryAccessRecords

SECRET = b"s" * 32


def sessions_of() -> Sessions:
    return Sessions(SECRET, RecordCopy(MemoryAccessRecords()))


class Clock:
    """What `time.time` says to sessions and marks."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(sessions, "time", made)
    return made


def found(of: Sessions, halves: Halves) -> Session | None:
    return of.find(halves.cookie, halves.binding)


def used(of: Sessions, halves: Halves) -> Halves:
    """The halves that a browser has after a request that was answered."""
    session = found(of, halves)
    assert session is not None
    return Halves(of.renewed(session) or halves.cookie, halves.binding)


def test_a_cookie_alone_proves_nothing_and_a_binding_alone_neither():
    kept = sessions_of()
    one, other = kept.open("admin"), kept.open("admin")
    assert found(kept, one) is not None
    for binding in ("", "x", one.cookie, other.binding, one.binding[:-1], one.binding + "é\ud800"):
        assert kept.find(one.cookie, binding) is None
    assert kept.find("", one.binding) is None


def test_a_session_that_is_not_used_ends(clock: Clock):
    kept = sessions_of()
    halves = kept.open("admin")
    clock.now += SESSION_SECONDS - 1
    assert found(kept, halves) is not None
    clock.now += 2
    assert found(kept, halves) is None


def test_use_prolongs_a_session_up_to_its_end(clock: Clock):
    kept = sessions_of()
    halves, begun = kept.open("admin"), clock.now
    while clock.now + SESSION_SECONDS / 2 < begun + LONGEST_SECONDS:
        clock.now += SESSION_SECONDS / 2
        halves = used(kept, halves)
    assert clock.now > begun + LONGEST_SECONDS - SESSION_SECONDS
    clock.now = begun + LONGEST_SECONDS + 1
    assert found(kept, halves) is None


def test_not_every_answer_carries_a_cookie(clock: Clock):
    kept = sessions_of()
    session = found(kept, kept.open("admin"))
    assert session is not None
    assert kept.renewed(session) is None
    clock.now += 599
    assert kept.renewed(session) is None
    clock.now += 2
    assert kept.renewed(session) is not None


def test_what_is_opened_for_a_minute_is_not_prolonged(clock: Clock):
    kept = sessions_of()
    halves = kept.open("viewer", longest_s=60)
    clock.now += 59
    assert used(kept, halves) == halves
    clock.now += 2
    assert found(kept, halves) is None


def test_an_ended_session_stays_ended_in_every_process_and_whatever_its_cookie(clock: Clock):
    records = MemoryAccessRecords()
    here, there = RecordCopy(records), RecordCopy(records)
    kept, elsewhere = Sessions(SECRET, here), Sessions(SECRET, there)
    early, other = kept.open("admin"), kept.open("admin")
    clock.now += 3600
    late = used(kept, early)
    assert late.cookie != early.cookie
    session = found(elsewhere, late)
    assert session is not None
    elsewhere.end(session)
    elsewhere.end(session)
    assert found(elsewhere, late) is None, "at once where it was ended"
    here.refresh()
    for each in (kept, elsewhere):
        assert found(each, early) is None
        assert found(each, late) is None
        assert found(each, other) is not None


@given(position=st.integers(0, 200), replacement=st.characters())
def test_a_changed_session_is_none(position: int, replacement: str):
    kept = sessions_of()
    halves = kept.open("admin")
    position %= len(halves.cookie)
    changed = halves.cookie[:position] + replacement + halves.cookie[position + 1 :]
    assert (kept.find(changed, halves.binding) is None) == (changed != halves.cookie)


@pytest.mark.parametrize("secure", [True, False])
def test_browsers_are_told_to_guard_the_cookie(secure: bool):
    header = cookie_header("value", secure=secure)
    assert header.startswith(f"{cookie_name(secure=secure)}=value; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"} <= set(header.split("; "))
    assert "Domain" not in header
    assert ("Secure" in header.split("; "), header.startswith("__Host-")) == (secure, secure)
    assert "Max-Age=0" in cookie_header("", secure=secure)
