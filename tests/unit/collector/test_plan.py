"""GIVEN a campaign's events WHEN a visit is planned THEN the gateway is asked for exactly that."""

from uuid import uuid4

import pytest

from collector.errors import BadPlan
from collector.plan import LONGEST_S, checked, deadline_s, plan_message, window_s
from storage.campaigns import Counted, EventPlan

CPU = EventPlan("cpu", 5000, rate_hz=99)
FAULTS = EventPlan("page-faults", 3000, period=100, turn=1)


def test_turns_add_up_and_events_of_one_turn_do_not():
    assert window_s([CPU, FAULTS]) == 8
    assert window_s([CPU, EventPlan("cycles", 2000, period=10**6)]) == 5
    assert window_s([FAULTS, CPU, EventPlan("cycles", 4000, period=10**6, turn=1)]) == 9


def test_the_deadline_leaves_room_for_queueing_and_for_the_way_home():
    assert deadline_s([CPU]) > window_s([CPU]) + 10


def test_a_name_alone_is_a_plan_and_leaves_the_rest_to_the_gateway():
    plan = plan_message(uuid4(), [EventPlan("context-switches", 1000)], campaign="fleet")
    assert (plan.events[0].rate_hz, plan.events[0].period) == (0.0, 0)
    assert not plan.counter_events
    assert plan.counted_cgroups == 0


def test_what_is_counted_is_said_too():
    counted = Counted(("l2-lines-in", "pmu:msr:tsc"), 8)
    plan = plan_message(uuid4(), [CPU], campaign="fleet", counted=counted)
    assert (tuple(plan.counter_events), plan.counted_cgroups) == (counted.events, 8)
    assert plan.counters


@pytest.mark.parametrize(
    ("counted", "why"),
    [
        (Counted(("tsc;",)), "Counter 'tsc;' of the plan is not an event name"),
        (Counted((7,)), "Counter 7 of the plan is not a name"),
        (Counted(tuple(f"raw:{n:#x}" for n in range(65))), "65 more events; the limit is 64"),
        (Counted((), -1), "the range is 0 to 16"),
        (Counted((), 17), "the range is 0 to 16"),
        (Counted((), "all"), "'all' control groups"),
    ],
)
def test_counters_that_no_gateway_takes_are_refused_by_name(counted, why):
    with pytest.raises(BadPlan, match=why):
        checked([CPU], counted)


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
        ([EventPlan("cpu", 1, rate_hz=1, period=1)], "one of them, or none"),
        ([EventPlan("page-faults", 1, rate_hz=1)], "does not count time"),
        ([EventPlan("Page Faults", 1)], "those look like page-faults"),
        ([EventPlan("tracepoint:sched", 1)], "does not look like tracepoint:sched:sched_switch"),
        ([EventPlan("raw:12", 1)], "does not look like raw:0x1c2"),
        ([EventPlan("pmu:cpu:event=x", 1)], "does not look like pmu:cpu"),
        ([EventPlan("heap:go", 1)], "does not begin with"),
        ([CPU, CPU], "twice in turn 0"),
        ([EventPlan("cpu", 1, rate_hz=1, turn=n) for n in range(33)], "33 events; the limit is 32"),
        ([EventPlan("cpu", 1, rate_hz=float("nan"))], "not a positive number"),
        ([EventPlan("cpu", 1, rate_hz=1, turn=-1)], "turns are"),
        ([EventPlan("cpu", round(LONGEST_S * 1000) + 1, rate_hz=1)], "the limit of a visit"),
    ],
)
def test_what_no_gateway_could_do_is_refused_by_name(events, why):
    with pytest.raises(BadPlan, match=why):
        checked(events)
