"""The collector's idea of an event's name is the gateway's: neither lets through what the other does not."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from collector import event_names, plan
from collector.event_names import COUNTS_TIME, why_not
from gateway.capture import limits
from gateway.errors import BadEventName, EventUnavailable
from gateway.perf import event_names as of_gateway
from gateway.perf.cpu_models import CHOICES
from gateway.perf.event_lookup import GENERIC_NAMES, find_event
from gateway.perf.event_names import parse_event_name
from gateway.perf.events import EVENTS

# Mostly what names are made of, so that some are right and many nearly so.
PIECES = ["tracepoint", "raw", "pmu", ":", ":", "0x", "1c2", "cpu", "=", ",", "-", "_", ".", "..", "/", " ", "\n", "\0",
          "sched", "ü", "٣", "9" * 20, "0x" + "f" * 16, "A", "x" * 65]  # fmt: skip
names = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=10).map("".join),
    st.text(max_size=300),
    st.sampled_from(GENERIC_NAMES),
    st.from_regex(r"pmu:[a-z_]{1,8}:[a-z]{1,6}=(0x)?[0-9a-f]{1,21}(,[a-z]{1,4})?", fullmatch=True),
    st.from_regex(r"tracepoint:[a-z_]{1,70}:[a-z_.]{1,8}", fullmatch=True),
)


def gateway_takes(name: str) -> bool:
    try:
        parse_event_name(name)
    except BadEventName:
        return False
    return True


@given(names)
@example("pmu:cpu:event=18446744073709551615")
@example("pmu:cpu:event=18446744073709551616,umask=1")
@example("pmu:cpu:event=1,")
@example("cpu\n")
@example("raw:0x1\n")
def test_both_take_the_same_names(name: str):
    assert (why_not(name) == "") == gateway_takes(name), why_not(name)


@pytest.mark.parametrize("name", GENERIC_NAMES)
def test_both_know_which_generic_events_count_time(name: str):
    assert why_not(name) == ""
    units = {choice.unit for choice in CHOICES.get(name, {}).values()}
    if name in EVENTS:
        units.add(EVENTS[name].unit)
    with suppress(EventUnavailable):
        units.add(find_event(name).unit)
    assert (name in COUNTS_TIME) == (not units or units <= {"cycles", "nanoseconds"})


def test_both_have_the_same_limits():
    assert event_names.LONGEST_NAME == of_gateway.LONGEST_NAME
    assert plan.MOST_CGROUPS == limits.MAX_CGROUPS
    assert plan.MOST_EVENTS == limits.MAX_EVENTS
    assert plan.MOST_COUNTERS == limits.MAX_COUNTERS
