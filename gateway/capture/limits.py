"""The gateway's own limits (DIGEST G5, G7), enforced for every plan.

A plan above the limits is thinned or shortened, with a note. Load is never a reason to refuse: machines that refuse
when busy would be missing from the fleet's estimate exactly where the cycles go.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2, gateway_pb2
from gateway.errors import BadEventName, EventUnavailable, PlanRefused
from gateway.perf.attributes import MAX_STACK_BYTES
from gateway.perf.event_lookup import find_event
from gateway.perf.event_names import parse_event_name
from gateway.perf.events import CYCLES, DEFAULT_RATE_HZ, NANOSECONDS, Event
from gateway.perf.sampler import Sampling, max_ring_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.settings import Limits

DEFAULT_STACK_BYTES: Final = 16384
DEFAULT_DEPTH: Final = 256
_MAX_DEPTH: Final = 1024
MAX_EVENTS: Final = 32
MAX_COUNTERS: Final = 64
# Each costs one event per CPU and counter, and slows down every switch between control groups.
MAX_CGROUPS: Final = 16
_SHORTEST_MS: Final = 10
_VISIT_ID_BYTES: Final = 16
# Cycles per second of a common server, for machines without a known nominal frequency.
_USUAL_MHZ: Final = 2500.0
_MAX_PERIOD: Final = 1 << 62
# How far a measured rate may exceed the limit before the event is thinned.
_TOLERANCE: Final = 1.5
# The loss of one late read; a higher loss means that the reader cannot keep up.
_TOLERABLE_LOSS: Final = 0.1
_NOT_ALLOWED: Final = "left out: the operator of this gateway does not allow it (--allow-event)"
GENERIC: Final = "generic"
"""Stands for every generic name: those without a colon. The default allow-list."""


@dataclass(frozen=True, slots=True)
class PlannedEvent:
    """One event as it will be sampled. `event` is None if this machine lacks it; `unavailable` has the reason."""

    name: str
    event: Event | None
    requested_period: int
    period: int
    thinned_why: str
    seconds: float
    stacks: bool
    unavailable: EventUnavailable | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """Turns run one after the other, the events of a turn together; `changes` are sentences for the caller.

    `counter_events` are counted in addition to the standing counters; `counted_cgroups` is the number of control
    groups to count. With `exact` a change during the capture refuses the plan.
    """

    turns: tuple[tuple[PlannedEvent, ...], ...]
    changes: tuple[str, ...]
    stack_bytes: int
    max_depth: int
    counters: bool
    counter_events: tuple[str, ...] = ()
    counted_cgroups: int = 0
    exact: bool = False

    @property
    def seconds(self) -> float:
        """Length of the window."""
        return sum(max(event.seconds for event in turn) for turn in self.turns)


@dataclass(frozen=True, slots=True)
class Capacity:
    """Cost of sampling on this machine: sampled CPUs, CPU seconds per sample, nominal frequency (0: unknown)."""

    cpus: int
    sample_cost_s: float
    nominal_mhz: float

    def max_rate(self, limits: Limits) -> float:
        """Samples per second and CPU within the CPU budget if every CPU is busy.

        One thread unwinds all samples and may use half of a core.
        """
        whole = limits.cpu_share / self.sample_cost_s
        return min(whole, 0.5 / self.sample_cost_s / self.cpus)


def schedule(
    plan: gateway_pb2.Plan,
    limits: Limits,
    capacity: Capacity,
    find: Callable[[str], Event] = find_event,
) -> Schedule:
    """Turn a plan into a schedule; raises PlanRefused INVALID for an invalid plan.

    `find` returns this machine's event of a name. Raises PlanRefused NOT_ALLOWED if the operator allows none of the
    events, or for an exact plan that would be changed.
    """
    _check(plan)
    changes: list[str] = []
    counter_events = _allowed_counters(plan, limits, changes)
    turns: dict[int, list[PlannedEvent]] = {}
    for wanted in plan.events:
        if not is_allowed(wanted.event, limits.events):
            planned = _skipped(wanted)
            changes.append(str(planned.unavailable))
        else:
            planned = _plan_event(wanted, limits, capacity, find)
        if planned.thinned_why:
            changes.append(f"{planned.name}: {planned.thinned_why}")
        turns.setdefault(wanted.turn, []).append(planned)
    if not any(is_allowed(wanted.event, limits.events) for wanted in plan.events):
        raise PlanRefused(gateway_pb2.Refusal.NOT_ALLOWED, "; ".join(changes))
    ordered = tuple(tuple(turns[turn]) for turn in sorted(turns))
    if plan.counted_cgroups > MAX_CGROUPS:
        changes.append(
            f"{MAX_CGROUPS} control groups are counted instead of {plan.counted_cgroups}, the limit "
            "of this gateway"
        )
    stack_bytes = plan.stack_bytes or DEFAULT_STACK_BYTES
    ordered = _fit_rings(ordered, stack_bytes, capacity.cpus, changes)
    shortened = _shorten(ordered, limits, changes)
    if plan.exact and changes:
        raise PlanRefused(
            gateway_pb2.Refusal.NOT_ALLOWED,
            f"the plan is exact, but this gateway would change it: {'; '.join(changes)}",
        )
    return Schedule(
        shortened,
        tuple(changes),
        stack_bytes,
        plan.max_depth or DEFAULT_DEPTH,
        plan.counters,
        counter_events,
        min(plan.counted_cgroups, MAX_CGROUPS),
        plan.exact,
    )


def is_allowed(name: str, patterns: Sequence[str]) -> bool:
    """Whether an event's name (EventPlan.event) matches one of the patterns (fnmatch(3), case-sensitive).

    A tracepoint can reveal what programs do (the calls, not their arguments), and a raw event or one of any event
    source can disturb the machine's own measurements. So each is allowed explicitly.
    """
    return any(":" not in name if pattern == GENERIC else fnmatchcase(name, pattern) for pattern in patterns)


def thinning_factor(rate: float, highest: float) -> int:
    """The smallest integer divisor that brings the rate down to `highest`."""
    return max(1, math.ceil(rate / highest - 1e-9))


def shared_factor(rate: float, rates: Sequence[float], highest: float) -> int:
    """The divisor for one of several concurrent events with the rates `rates`; 1: no change.

    The events share one budget. If their sum is well above `highest`, each event above an equal share is reduced to
    that share: a burst of one event does not thin the others.
    """
    part = highest / len(rates)
    if sum(rates) <= highest * _TOLERANCE or rate <= part:
        return 1
    return math.ceil(rate / part)


def loss_factor(kept: int, lost: int) -> int:
    """The divisor for a rate of which `kept` samples were read and `lost` were not; 1: no change."""
    if lost <= _TOLERABLE_LOSS * (kept + lost):
        return 1
    return math.ceil((kept + lost) / max(kept, 1))


def _invalid(message: str) -> PlanRefused:
    return PlanRefused(gateway_pb2.Refusal.INVALID, message)


def _check(plan: gateway_pb2.Plan) -> None:
    if len(plan.visit_id) != _VISIT_ID_BYTES:
        raise _invalid(f"visit_id must be the 16 bytes of a UUID, not {len(plan.visit_id)}")
    if not 0 < len(plan.events) <= MAX_EVENTS:
        raise _invalid(f"events must name 1 to {MAX_EVENTS} events, not {len(plan.events)}")
    if plan.stack_bytes % 8 or plan.stack_bytes > MAX_STACK_BYTES:
        raise _invalid(f"stack_bytes must be a multiple of 8 up to {MAX_STACK_BYTES}, not {plan.stack_bytes}")
    if plan.max_depth > _MAX_DEPTH:
        raise _invalid(f"max_depth must be at most {_MAX_DEPTH}, not {plan.max_depth}")
    if len(plan.counter_events) > MAX_COUNTERS:
        raise _invalid(
            f"counter_events must name at most {MAX_COUNTERS} events, not {len(plan.counter_events)}"
        )
    for field, names in (("counter_events", plan.counter_events), ("events", [e.event for e in plan.events])):
        for name in names:
            try:
                parse_event_name(name)
            except BadEventName as error:
                raise _invalid(f"{field}: {error}") from error
    seen = set()
    for wanted in plan.events:
        if (wanted.turn, wanted.event) in seen:
            raise _invalid(f"events: {wanted.event} occurs twice in turn {wanted.turn}")
        seen.add((wanted.turn, wanted.event))
        if wanted.duration_ms < _SHORTEST_MS:
            raise _invalid(f"{wanted.event}: duration_ms must be at least {_SHORTEST_MS}")
        if not math.isfinite(wanted.rate_hz) or wanted.rate_hz < 0:
            raise _invalid(f"{wanted.event}: rate_hz must be a positive number")
        if wanted.period > _MAX_PERIOD:
            raise _invalid(f"{wanted.event}: period must be at most {_MAX_PERIOD}")


def _plan_event(
    wanted: gateway_pb2.EventPlan, limits: Limits, capacity: Capacity, find: Callable[[str], Event]
) -> PlannedEvent:
    seconds = wanted.duration_ms / 1000
    try:
        event = find(wanted.event)
    except EventUnavailable as reason:
        return PlannedEvent(wanted.event, None, 0, 0, "", seconds, wanted.stacks, reason)
    units_per_second = _units_per_second(event, capacity)
    rate_hz = wanted.rate_hz
    if units_per_second and not rate_hz and not wanted.period:
        rate_hz = min(DEFAULT_RATE_HZ, limits.max_rate_hz)
    if units_per_second and rate_hz:
        requested = max(1, round(units_per_second / rate_hz))
    elif wanted.rate_hz and not wanted.period:
        raise _invalid(f"{wanted.event}: does not count time, so it takes a period, not rate_hz")
    else:
        requested = wanted.period or event.default_period
    factor, why = 1, ""
    if units_per_second:
        # Thin by the requested rate: the rounded period may give a slightly higher rate, and a rate exactly at the
        # limit would be halved.
        rate = rate_hz or units_per_second / requested
        factor, why = _thin(rate, limits, capacity)
    return PlannedEvent(wanted.event, event, requested, requested * factor, why, seconds, wanted.stacks)


def _skipped(wanted: gateway_pb2.EventPlan) -> PlannedEvent:
    """An event that the operator does not allow: its segment has the reason and no samples."""
    reason = EventUnavailable(f"{wanted.event}: {_NOT_ALLOWED}", support=capture_pb2.SUPPORT_DENIED, errno=0)
    return PlannedEvent(wanted.event, None, 0, 0, "", wanted.duration_ms / 1000, wanted.stacks, reason)


def _allowed_counters(plan: gateway_pb2.Plan, limits: Limits, changes: list[str]) -> tuple[str, ...]:
    """The requested counters that the operator allows, without duplicates."""
    asked = tuple(dict.fromkeys(plan.counter_events))
    changes.extend(f"counter {name}: {_NOT_ALLOWED}" for name in asked if not is_allowed(name, limits.events))
    return tuple(name for name in asked if is_allowed(name, limits.events))


def _units_per_second(event: Event, capacity: Capacity) -> float:
    """Units per second on a busy CPU; 0 if not known in advance."""
    if event.unit == NANOSECONDS:
        return 1e9
    if event.unit == CYCLES:
        return (capacity.nominal_mhz or _USUAL_MHZ) * 1e6
    return 0.0


def _thin(rate: float, limits: Limits, capacity: Capacity) -> tuple[int, str]:
    capped = thinning_factor(rate, limits.max_rate_hz)
    paid = thinning_factor(rate, capacity.max_rate(limits))
    if capped >= paid and capped > 1:
        return (
            capped,
            f"only one sample in {capped} is taken: the gateway allows {limits.max_rate_hz:g} per second and CPU",
        )
    if paid > 1:
        return paid, (
            f"only one sample in {paid} is taken: at {rate:g} per second and CPU sampling would cost more than "
            f"{limits.cpu_share:.3g} of the machine or half a core"
        )
    return 1, ""


def _fit_rings(
    turns: Sequence[tuple[PlannedEvent, ...]], stack_bytes: int, cpus: int, changes: list[str]
) -> tuple[tuple[PlannedEvent, ...], ...]:
    """Split a turn whose rings exceed the memory limit into consecutive turns of the same total time."""
    fitting: list[tuple[PlannedEvent, ...]] = []
    for turn in turns:
        parts: list[list[PlannedEvent]] = [[]]
        for event in turn:
            more = [*parts[-1], event]
            if parts[-1] and _rings_bytes(more, stack_bytes, cpus) > max_ring_bytes(cpus):
                parts.append([event])
            else:
                parts[-1] = more
        if len(parts) > 1:
            changes.append(
                f"{len(turn)} events of a turn are sampled in {len(parts)} turns, each event for "
                f"1/{len(parts)} of its time: together their rings would need more than "
                f"{max_ring_bytes(cpus) >> 20} MiB"
            )
        fitting += [
            tuple(replace(event, seconds=event.seconds / len(parts)) for event in part) for part in parts
        ]
    return tuple(fitting)


def _rings_bytes(turn: Sequence[PlannedEvent], stack_bytes: int, cpus: int) -> int:
    """Memory of the rings of concurrent events on all CPUs."""
    return cpus * sum(
        Sampling(each.event, each.period, each.stacks, stack_bytes, together=len(turn)).ring_bytes(cpus)
        for each in turn
        if each.event is not None
    )


def _shorten(
    turns: Sequence[tuple[PlannedEvent, ...]], limits: Limits, changes: list[str]
) -> tuple[tuple[PlannedEvent, ...], ...]:
    """Scale all turns down to the allowed length."""
    asked = sum(max(event.seconds for event in turn) for turn in turns)
    if asked <= limits.max_seconds:
        return tuple(turns)
    scale = limits.max_seconds / asked
    changes.append(f"shortened from {asked:g} s to {limits.max_seconds:g} s, the limit of this gateway")
    return tuple(tuple(replace(event, seconds=event.seconds * scale) for event in turn) for turn in turns)
