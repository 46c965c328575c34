"""GIVEN a campaign's events WHEN a visit is planned THEN the gateway is asked for exactly that."""

from uuid import uuid4

import pytest

from collector.errors import BadPlan
from collector.plan import LONGEST_S, checked, deadline_s, plan_message, window_s
from storage.campaigns import EventPlan

CPU = EventPlan("cpu", 5000, rate_hz=99)
FAULTS = EventPlan("page-faults", 3000, period=100, turn=1)


def test_turns_add_up_and_events_of_one_turn_do_not():
    assert window_s([CPU, FAULTS]) == 8
    assert window_s([CPU, EventPlan("cycles", 2000, period=10**6)]) == 5
    assert window_s([FAULTS, CPU, EventPlan("cycles", 4000, period=10**6, turn=1)]) == 9


def test_the_deadline_leaves_room_for_queueing_and_for_the_way_home():
    assert deadline_s([CPU]) > window_s([CPU]) + 10


def test_the_message_says_what_the_campaign_says():
    visit_id = uuid4()
    plan = plan_message(visit_id, [CPU, FAULTS], campaign="fleet")
    assert plan.visit_id == visit_id.bytes
    assert plan.campaign == "fleet"
    assert plan.ttl_ms > 0
    said = [(e.event, e.rate_hz, e.period, e.duration_ms, e.stacks, e.turn) for e in plan.events]
    assert said == [("cpu", 99.0, 0, 5000, True, 0), ("page-faults", 0.0, 100, 3000, True, 1)]


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([], "names no event"),
        ([EventPlan("", 1, rate_hz=1)], "has no name"),
        ([EventPlan(7, 1, rate_hz=1)], "has no name"),
        ([EventPlan("cpu", "5000", rate_hz=1)], "duration_ms '5000'; it must be a whole number"),
        ([EventPlan("cpu", 1.5, rate_hz=1)], "duration_ms 1.5"),
        ([EventPlan("cpu", 1, period=None)], "period None"),
        ([EventPlan("cpu", 1, rate_hz="99")], "a number for rate_hz"),
        ([EventPlan("cpu", 0, rate_hz=1)], "longer than 0"),
        ([EventPlan("cpu", 1)], "one of them"),
        ([EventPlan("cpu", 1, rate_hz=1, period=1)], "one of them"),
        ([EventPlan("cpu", 1, rate_hz=float("nan"))], "no positive number"),
        ([EventPlan("cpu", 1, rate_hz=1, turn=-1)], "turns are"),
        ([EventPlan("cpu", round(LONGEST_S * 1000) + 1, rate_hz=1)], "at most"),
    ],
)
def test_what_no_gateway_could_do_is_refused_by_name(events, why):
    with pytest.raises(BadPlan, match=why):
        checked(events)
