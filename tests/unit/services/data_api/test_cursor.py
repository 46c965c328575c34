"""GIVEN a cursor WHEN it is given back THEN it is the same place, and a damaged one is an error."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.data_api.cursor import LONGEST, Cursor, fingerprint, read_cursor
from services.data_api.errors import BadCursor
from storage.data.stream_position import Order, Place
from storage.errors import BadSelection

moments = st.integers(86_400_000_000, 253_370_764_800_000_000).map(
    lambda us: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
)
cursors = st.builds(
    Cursor,
    of=st.sampled_from(["profiles", "captures"]),
    query=st.text("0123456789abcdef", min_size=18, max_size=18),
    order=st.sampled_from(Order),
    start=moments,
    end=moments,
    place=st.builds(Place, moments, st.uuids()),
    follow_from=moments,
    stacks=st.booleans(),
)
ONE = Cursor(
    of="profiles",
    query=fingerprint("a"),
    order=Order.DRAWN,
    start=datetime(2026, 11, 20, tzinfo=UTC),
    end=datetime(2026, 11, 21, tzinfo=UTC),
    place=Place(datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC), UUID(int=7)),
    follow_from=datetime(2026, 11, 22, tzinfo=UTC),
)


@given(cursors)
def test_it_is_what_it_was(cursor: Cursor):
    text = cursor.text()
    assert read_cursor(text) == cursor
    assert len(text) <= LONGEST
    assert text.isascii()
    assert not set(text) & set('+/=&?# "')


@given(cursor=cursors, data=st.data())
def test_a_changed_character_is_noticed(cursor: Cursor, data):
    text = cursor.text()
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from("ABCxyz019-_.").filter(lambda c: c != text[at]))
    with pytest.raises(BadCursor):
        read_cursor(text[:at] + other + text[at + 1 :])


@given(st.text(max_size=60))
def test_any_text_is_refused_or_read(text: str):
    with pytest.raises(BadCursor) as refused:
        read_cursor(text)
    assert isinstance(refused.value, BadSelection)
    assert refused.value.hint


def test_a_person_can_read_it():
    body = ONE.text().partition(".")[0]
    said = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    assert (said["v"], said["of"], said["at"]) == (1, "profiles", "2026-11-20T12:00:00.123456+00:00")


def test_a_newer_version_is_named():
    from services.data_api import cursor as module

    body = json.dumps({"v": 2}).encode()
    text = f"{module._encoded(body)}.{module._encoded(module._checksum(body))}"
    with pytest.raises(BadCursor, match="version 2"):
        read_cursor(text)


def test_zones_do_not_matter():
    east = timezone(timedelta(hours=2))
    same = replace(
        ONE, start=ONE.start.astimezone(east), place=Place(ONE.place.moment.astimezone(east), UUID(int=7))
    )
    assert same.text() == ONE.text()


def test_fingerprints_tell_texts_apart():
    assert fingerprint("a", "b") != fingerprint("ab", "") != fingerprint("", "ab")


@pytest.mark.parametrize(
    "forged",
    [
        {"visit": 5},
        {"visit": None},
        {"v": True},
        {"at": 7},
        {"at": "0001-01-01T00:00:00+14:00"},
        {"at": "9999-12-31T23:59:59-14:00"},
        {"from": "0001-01-01T00:00:00+00:00"},
        {"to": "9999-12-31T23:59:59+00:00"},
        {"order": []},
    ],
)
def test_a_forged_one_is_none(forged: dict[str, object]):
    from services.data_api import cursor as module

    body = ONE.text().partition(".")[0]
    known = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    changed = json.dumps({**known, **forged}).encode()
    with pytest.raises(BadCursor):
        read_cursor(f"{module._encoded(changed)}.{module._encoded(module._checksum(changed))}")


def test_one_that_follows_for_ever_is_read():
    following = replace(ONE, start=datetime(1970, 1, 1, tzinfo=UTC), end=datetime(9999, 1, 1, tzinfo=UTC))
    assert read_cursor(following.text()) == following
