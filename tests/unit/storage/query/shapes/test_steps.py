"""Steps cover a selection exactly, and stand where clocks and calendars have them."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import BadSelection
from storage.query.selections.selection import Selection
from storage.query.shapes.steps import DAY_S, MOST_POINTS, steps

times = st.integers(0, 40_000 * DAY_S).map(lambda s: datetime.fromtimestamp(s, UTC))
spans = st.one_of(st.integers(1, 7200), st.integers(1, 4000 * DAY_S)).map(lambda s: timedelta(seconds=s))


@given(times, spans, st.integers(1, 300))
def test_steps_cover_the_selection_and_nothing_more(start: datetime, span: timedelta, most: int):
    found = steps(Selection(start, start + span), most)
    assert found.count <= max(most, 2)
    assert found.time(0) <= start < found.time(1)
    assert found.time(found.count - 1) < start + span <= found.time(found.count)
    assert found.starts.tolist()[1:] == found.ends.tolist()[:-1]
    edges = np.array([start.timestamp(), (start + span).timestamp() - 1])
    assert found.of(edges).tolist()[0] == 0
    assert 0 <= found.of(edges)[1] < found.count


@given(times, st.sampled_from([1, 7, 60, 3600, 43_200, DAY_S, 7 * DAY_S]), st.integers(1, MOST_POINTS - 1))
def test_a_given_step_is_kept(start: datetime, step_s: int, count: int):
    found = steps(Selection(start, start + timedelta(seconds=step_s * count)), 1, step_s)
    assert found.step_s == step_s
    assert count <= found.count <= count + 1


@pytest.mark.parametrize(
    ("start", "span", "most", "expected"),
    [
        ("2026-11-18T12:34:56", timedelta(minutes=30), 60, ("2026-11-18T12:34:00", 60, 31)),
        ("2026-11-18T12:34:56", timedelta(hours=12), 60, ("2026-11-18T12:30:00", 900, 49)),
        ("2026-11-18T12:34:56", timedelta(days=1), 24, ("2026-11-18T12:00:00", 7200, 13)),
        ("2026-11-18T12:34:56", timedelta(days=30), 40, ("2026-11-18T00:00:00", DAY_S, 31)),
        ("2026-11-18T12:34:56", timedelta(days=60), 10, ("2026-11-16T00:00:00", 7 * DAY_S, 9)),
        ("2026-11-18T00:00:00", timedelta(days=7), 7, ("2026-11-18T00:00:00", DAY_S, 7)),
    ],
)
def test_steps_are_those_of_clocks_and_calendars(start, span, most, expected):
    begin = datetime.fromisoformat(start).replace(tzinfo=UTC)
    found = steps(Selection(begin, begin + span), most)
    assert (found.time(0).isoformat()[:19], found.step_s, found.count) == expected


def test_too_many_points_are_refused():
    start = datetime(2026, 11, 18, tzinfo=UTC)
    with pytest.raises(BadSelection, match="86,400 points") as caught:
        steps(Selection(start, start + timedelta(days=1)), 10, 1)
    assert caught.value.parameter == "step"


@pytest.mark.parametrize("most", [1, 2, 3, 1000])
def test_all_time_there_is_has_steps(most: int):
    ends = datetime(1970, 1, 1, tzinfo=UTC), datetime(8999, 12, 31, tzinfo=UTC)
    found = steps(Selection(*ends), most)
    assert found.count <= max(most, 2)
    assert found.time(0) <= ends[0]
    assert ends[1] <= found.time(found.count) <= datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
