"""GIVEN queries WHEN a cursor of one is given to another THEN it is refused in a sentence."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fleetpb import data_pb2
from services.data_api.cursor import Cursor
from services.data_api.errors import BadCursor
from services.data_api.query import DEFAULT_RECORD_BYTES, make_query, of_message
from storage.data.place import Order, Place
from storage.errors import BadSelection
from storage.query.selections.selection import parse_selection

TIMES = "2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"
MOMENT = datetime(2026, 11, 20, tzinfo=UTC)


def query(of="profiles", **more):
    given = {k: more.pop(k) for k in ("cursor", "follow", "record_bytes") if k in more}
    return make_query(of, parse_selection(start=TIMES[0], end=TIMES[1], **more), TIMES, **given)


def cursor_of(asked) -> Cursor:
    return Cursor(asked.of, asked.fingerprint, asked.order, MOMENT, MOMENT, Place(MOMENT), MOMENT)


def test_a_cursor_is_of_its_query():
    cursor = cursor_of(query())
    assert query(cursor=cursor.text()).cursor == cursor
    for more, said in [
        ({"of": "captures"}, "not of captures"),
        ({"focus": "x"}, "another query"),
        ({"show_from": "x"}, "another query"),
        ({"event": "lock"}, "another query"),
        ({"select": '{function="x"}'}, "another query"),
        ({"follow": True}, "that ends"),
    ]:
        with pytest.raises(BadCursor, match=said):
            query(cursor=cursor.text(), **more)
    following = cursor_of(query(follow=True))
    assert (following.order, query(follow=True, cursor=following.text()).order) == (
        Order.LANDED,
        Order.LANDED,
    )
    with pytest.raises(BadCursor, match="that follows"):
        query(cursor=following.text())
    with pytest.raises(BadCursor, match="another query"):
        query(cursor=replace(cursor, query="0" * 18).text())


def test_matchers_are_the_same_however_they_are_written():
    cursor = cursor_of(query(select='{application="x"}'))
    assert query(select=' application = "x" ', cursor=cursor.text()).cursor == cursor


def test_the_way_it_came_does_not_matter():
    message = data_pb2.ProfileQuery(
        selection=data_pb2.Selection(from_time=TIMES[0], to_time=TIMES[1], select='{a="x"}', hide="y")
    )
    asked = of_message("profiles", message)
    assert asked == query(select='{a="x"}', hide="y")
    assert asked.record_bytes == DEFAULT_RECORD_BYTES


def test_defaults_are_the_apis():
    asked = of_message("profiles", data_pb2.ProfileQuery(only_matching=True))
    assert (asked.selection.event, asked.selection.campaign, asked.times) == (
        "cpu",
        "fleet",
        ("now-1h", "now"),
    )
    assert asked.only_matching


@pytest.mark.parametrize("size", [1, 1 << 40])
def test_sizes_have_bounds(size: int):
    with pytest.raises(BadSelection, match="bytes"):
        query(record_bytes=size)
