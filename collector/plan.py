"""The plan sent to a gateway for one visit, from a campaign's plan."""

from collections.abc import Sequence
from math import isfinite
from uuid import UUID

from collector.errors import BadPlan
from collector.event_names import COUNTS_TIME, why_not
from fleetpb import gateway_pb2
from storage.campaigns import Counted, EventPlan, window_s

TTL_S = 10.0
"""A plan that waited this long in a machine's queue expires: its window would be at another time."""
MARGIN_S = 10.0
"""Time of a visit besides sampling: packing and transferring the capture."""
LONGEST_S = 600.0
"""Limit of all windows together; visits are short (DIGEST G3: a few minutes a machine)."""
MOST_EVENTS = 32
MOST_COUNTERS = 64
MOST_CGROUPS = 16
"""A gateway's default limits; if its operator set lower ones, the response reports the change."""
NO_COUNTERS = Counted()


def deadline_s(events: Sequence[EventPlan]) -> float:
    """Time limit of a visit in seconds, from the call to the last byte."""
    return TTL_S + window_s(events) + MARGIN_S


def checked(events: Sequence[EventPlan], counted: Counted = NO_COUNTERS) -> Sequence[EventPlan]:
    """The events if they are valid for a gateway. Raises `BadPlan`, naming the event and the field."""
    if not 0 < len(events) <= MOST_EVENTS:
        raise BadPlan(
            f"The plan names {len(events) or 'no'} event{'s' * (len(events) > 1)}; the limit is "
            f"{MOST_EVENTS}."
        )
    seen = set()
    for event in events:
        if not event.event or not isinstance(event.event, str):
            raise BadPlan("An event of the plan has no name.")
        _check_event(event)
        if (event.turn, event.event) in seen:
            raise BadPlan(f"Event {event.event!r} is in the plan twice in turn {event.turn}.")
        seen.add((event.turn, event.event))
    if window_s(events) > LONGEST_S:
        raise BadPlan(f"The plan takes {window_s(events):g} s; the limit of a visit is {LONGEST_S:g} s.")
    _check_counted(counted)
    return events


def _check_event(event: EventPlan) -> None:
    subject = f"Event {event.event!r} of the plan"
    if why := why_not(event.event):
        raise BadPlan(f"{subject} {why}.")
    numbers = {"duration_ms": event.duration_ms, "period": event.period, "turn": event.turn}
    for field, value in numbers.items():
        if type(value) is not int:  # a plan may come from a file, with values of any type
            raise BadPlan(f"{subject} has {field} {value!r}; it must be a whole number.")
    if type(event.rate_hz) not in {int, float} or type(event.stacks) is not bool:
        raise BadPlan(f"{subject} needs a number for rate_hz, and true or false for stacks.")
    if event.duration_ms <= 0:
        raise BadPlan(f"{subject} lasts {event.duration_ms} ms; it must last longer than 0.")
    if not isfinite(event.rate_hz) or event.rate_hz < 0 or event.period < 0:
        raise BadPlan(f"{subject} has a rate or period that is not a positive number.")
    if event.rate_hz > 0 and event.period > 0:
        raise BadPlan(f"{subject} has a rate (rate_hz) and a period; it takes one of them, or none.")
    if event.rate_hz > 0 and event.event not in COUNTS_TIME:
        raise BadPlan(f"{subject} does not count time: give a period instead of a rate in Hz, or neither.")
    if not 0 <= event.turn < 1000:
        raise BadPlan(f"{subject} has turn {event.turn}; turns are 0 to 999.")


def _check_counted(counted: Counted) -> None:
    if len(counted.events) > MOST_COUNTERS:
        raise BadPlan(f"The plan counts {len(counted.events)} more events; the limit is {MOST_COUNTERS}.")
    for name in counted.events:
        if not isinstance(name, str) or (why := why_not(name)):
            raise BadPlan(
                f"Counter {name!r} of the plan {why if isinstance(name, str) else 'is not a name'}."
            )
    if type(counted.cgroups) is not int or not 0 <= counted.cgroups <= MOST_CGROUPS:
        raise BadPlan(
            f"The plan counts {counted.cgroups!r} control groups; the range is 0 to {MOST_CGROUPS}."
        )


def plan_message(
    visit_id: UUID, events: Sequence[EventPlan], *, campaign: str, counted: Counted = NO_COUNTERS
) -> gateway_pb2.Plan:
    """The plan as a protobuf message. Raises `BadPlan`."""
    return gateway_pb2.Plan(
        visit_id=visit_id.bytes,
        ttl_ms=round(TTL_S * 1000),
        campaign=campaign,
        counters=True,
        events=[
            gateway_pb2.EventPlan(
                event=event.event,
                rate_hz=event.rate_hz,
                period=event.period,
                duration_ms=event.duration_ms,
                stacks=event.stacks,
                turn=event.turn,
            )
            for event in checked(events, counted)
        ],
        counter_events=counted.events,
        counted_cgroups=counted.cgroups,
    )
