"""GIVEN options of a command line WHEN a visit is planned THEN each event has the pace that was said, or none."""

import pytest
import typer

from services.command_line.event_options import counted_of, events_of
from storage.campaigns import Counted, EventPlan


def events(*texts: str, rate: float | None = None, in_turn: bool = False, flat: bool = False):
    return events_of(texts, seconds=2.5, rate=rate, in_turn=in_turn, flat=flat)


def test_a_pace_is_a_period_or_a_rate_and_may_be_left_out():
    assert events("cpu@99hz", "page-faults@97", "context-switches", "tracepoint:sched:sched_switch@3") == (
        EventPlan("cpu", 2500, rate_hz=99.0),
        EventPlan("page-faults", 2500, period=97),
        EventPlan("context-switches", 2500),
        EventPlan("tracepoint:sched:sched_switch", 2500, period=3),
    )


def test_the_rate_is_that_of_events_which_count_time_and_have_none_of_their_own():
    planned = events("cpu", "cycles@19Hz", "page-faults", rate=199.0)
    assert [(event.rate_hz, event.period) for event in planned] == [(199.0, 0), (19.0, 0), (0.0, 0)]


def test_in_turn_and_flat():
    planned = events("cpu", "page-faults", in_turn=True, flat=True)
    assert [(event.turn, event.stacks) for event in planned] == [(0, False), (1, False)]


@pytest.mark.parametrize(
    "text", ["cpu@", "cpu@often", "cpu@0", "cpu@-1", "cpu@1e3", "cpu@9" + "9" * 30, "cpu@٣"]
)
def test_what_is_no_pace_is_said(text: str):
    with pytest.raises(typer.BadParameter, match="after the @"):
        events(text)


def test_counters_that_are_not_given_stay_and_an_empty_one_clears_them():
    before = Counted(("tsc",), 4)
    assert counted_of(None, None, before) == before
    assert counted_of(["l2-lines-in"], None, before) == Counted(("l2-lines-in",), 4)
    assert counted_of([""], 0, before) == Counted()
