"""GIVEN queries WHEN a cursor of one is given to another THEN it is refused in a sentence."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fleetpb import data_pb2
from services.data_api.cursor import Cursor
from services.data_api.errors import BadCursor
from services.data_api.query_parameters import DEFAULT_RECORD_BYTES, make_query, of_message
from storage.data.stream_position import Order, Place
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
        Order.INGESTED,
        Order.INGESTED,
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


def test_who_follows_without_a_beginning_misses_nothing_that_was_drawn_long_ago():
    def start(of: str = "profiles", **more):
        message = data_pb2.ProfileQuery if of == "profiles" else data_pb2.CaptureQuery
        asked = {name: more.pop(name) for name in ("from_time",) if name in more}
        return of_message(of, message(selection=data_pb2.Selection(**asked), **more)).selection.start

    for of in ("profiles", "captures"):
        assert start(of, follow=True) == datetime(1970, 1, 1, tzinfo=UTC)
        assert start(of, follow=True, from_time=TIMES[0]) == MOMENT
        assert start(of).year > 1970


def test_no_beginning_is_the_default_one():
    given, left_out = (
        make_query("profiles", parse_selection(start="now-1h"), (start, "now")) for start in ("now-1h", "")
    )
    assert given.fingerprint == left_out.fingerprint
