"""Which answers a browser may keep."""

from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest
from fastapi import Request

from services.api.cache_control import CLOSED, OPEN, cache_control

NOW = datetime(2026, 11, 24, 12, 0, tzinfo=UTC)
FIXED = {"from": "2026-11-20T00:00:00Z", "to": "2026-11-21T00:00:00Z"}


def control(**query: str) -> str:
    scope = {"type": "http", "query_string": urlencode(query).encode(), "headers": []}
    return cache_control(Request(scope), NOW)


def test_a_range_is_closed_a_day_after_its_end():
    assert control(**FIXED) == CLOSED
    assert control(**{**FIXED, "to": "2026-11-23T11:59:59Z"}) == CLOSED
    assert control(**{**FIXED, "to": "2026-11-23T12:00:00Z"}) == OPEN
    assert control(**{**FIXED, "to": "2026-11-30T00:00:00Z"}) == OPEN


@pytest.mark.parametrize("times", [{}, {"from": FIXED["from"]}, {**FIXED, "to": ""}])
def test_a_range_that_ends_now_is_open(times: dict[str, str]):
    assert control(**times) == OPEN


@pytest.mark.parametrize("times", [{"to": "now-2d"}, {"from": "now-9d"}, {"from": "now-9d", "to": "now-3d"}])
def test_a_relative_time_is_another_range_each_time(times: dict[str, str]):
    assert control(**{**FIXED, **times}) == OPEN


def test_both_sides_must_be_closed():
    base = {"base_from": "2026-11-18T00:00:00Z", "base_to": "2026-11-19T00:00:00Z"}
    assert control(**FIXED, **base) == CLOSED
    assert control(**FIXED, **{**base, "base_to": "2026-11-24T00:00:00Z"}) == OPEN
    assert control(**FIXED, **{**base, "base_from": "now-9d"}) == OPEN
    assert control(**{**FIXED, "to": "now"}, **base) == OPEN


def test_what_is_no_time_is_open():
    assert control(**{**FIXED, "to": "yesterday"}) == OPEN


def test_uploaded_experiments_may_be_replaced():
    assert control(**FIXED, experiments="spec") == OPEN
