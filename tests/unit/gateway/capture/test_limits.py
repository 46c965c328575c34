import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetpb import capture_pb2, gateway_pb2
from gateway.capture.limits import (
    MAX_CGROUPS,
    Capacity,
    Schedule,
    is_allowed,
    loss_factor,
    schedule,
    shared_factor,
    thinning_factor,
)
from gateway.errors import EventUnavailable, PlanRefused
from gateway.perf.events import EVENTS, Event
from gateway.perf.sampler import Sampling, max_ring_bytes
from gateway.settings import Limits

# At 10 µs a sample the default share of the machine pays for 3000 samples per second and CPU.
CHEAP = Capacity(cpus=2, sample_cost_s=10e-6, nominal_mhz=2000.0)


def event(name: str = "cpu", **fields: float | bool) -> gateway_pb2.EventPlan:
    return gateway_pb2.EventPlan(event=name, **({"duration_ms": 1000, "rate_hz": 99.0} | fields))


def plan(*events: gateway_pb2.EventPlan, **fields: object) -> gateway_pb2.Plan:
    return gateway_pb2.Plan(**({"visit_id": bytes(16), "events": events} | fields))


def scheduled(*events: gateway_pb2.EventPlan, limits: Limits | None = None, **fields: object) -> Schedule:
    return schedule(plan(*events, **fields), limits or Limits(), CHEAP)


def test_a_modest_plan_is_done_as_asked():
    result = scheduled(event(stacks=True), counters=True)
    ((cpu,),) = result.turns
    assert (cpu.requested_period, cpu.period, cpu.thinned_why) == (10101010, 10101010, "")
    assert cpu.stacks
    assert result.changes == ()
    assert (result.stack_bytes, result.max_depth, result.counters) == (16384, 256, True)
    assert result.seconds == 1.0


def test_cycles_take_their_period_from_the_nominal_frequency():
    ((cycles,),) = scheduled(event("cycles", rate_hz=100.0)).turns
    assert cycles.period == 20_000_000


def test_events_that_count_no_time_take_a_period():
    ((faults,),) = scheduled(event("page-faults", rate_hz=0, period=7)).turns
    assert (faults.requested_period, faults.period) == (7, 7)
    with pytest.raises(PlanRefused, match="takes a period") as refused:
        scheduled(event("page-faults"))
    assert refused.value.reason == gateway_pb2.Refusal.INVALID


def test_a_name_alone_gets_the_events_own_period():
    (turn,) = scheduled(*[event(name, rate_hz=0) for name in ("cpu", "cycles", "page-faults")]).turns
    assert [planned.period for planned in turn] == [10101010, 20202020, EVENTS["page-faults"].default_period]
    ((capped,),) = scheduled(event(rate_hz=0), limits=Limits(max_rate_hz=50.0)).turns
    assert (capped.period, capped.thinned_why) == (20_000_000, ""), "nobody asked for more"


def test_counters_and_control_groups_are_passed_on_within_bounds():
    result = scheduled(
        event(),
        counter_events=["tsc", "pmu:msr:tsc", "tsc"],
        counted_cgroups=500,
        limits=Limits(events=("*",)),
    )
    assert result.counter_events == ("tsc", "pmu:msr:tsc")
    assert result.counted_cgroups == MAX_CGROUPS
    assert result.changes == ("16 control groups are counted instead of 500, the limit of this gateway",)


def test_turns_run_in_ascending_order_whatever_the_plans_order():
    result = scheduled(
        event("page-faults", period=9, rate_hz=0, turn=3, duration_ms=500),
        event(turn=1, duration_ms=2000),
        event("cycles", turn=3, duration_ms=1500),
    )
    assert [[planned.name for planned in turn] for turn in result.turns] == [
        ["cpu"],
        ["page-faults", "cycles"],
    ]
    assert result.seconds == 3.5


def test_a_name_that_nothing_goes_by_stays_to_be_reported():
    ((unknown,),) = scheduled(event("quantum-flips")).turns
    assert unknown.event is None
    assert unknown.name == "quantum-flips"
    assert str(unknown.unavailable) == "quantum-flips: unknown event"


def test_what_this_machine_cannot_have_keeps_the_reason():
    refused = EventUnavailable("tracefs is closed", support=3, errno=13)

    def find(name: str) -> Event:
        raise refused

    result = schedule(plan(event("tracepoint:sched:sched_switch")), Limits(events=("*",)), CHEAP, find)
    assert result.turns[0][0].unavailable is refused


def test_a_rate_above_the_cap_is_thinned_by_the_smallest_whole_factor():
    result = scheduled(event(rate_hz=999.0), limits=Limits(max_rate_hz=400.0))
    ((cpu,),) = result.turns
    assert cpu.period == 3 * cpu.requested_period
    assert "400 per second" in cpu.thinned_why
    assert result.changes == (f"cpu: {cpu.thinned_why}",)


def test_a_rate_above_the_budget_is_thinned_never_refused():
    dear = Capacity(cpus=2, sample_cost_s=1e-3, nominal_mhz=0.0)
    result = schedule(plan(event(rate_hz=99.0)), Limits(cpu_share=0.01), dear)
    ((cpu,),) = result.turns
    assert cpu.period == 10 * cpu.requested_period
    assert "0.01 of the machine" in cpu.thinned_why


def test_one_thread_unwinds_so_many_cpus_leave_each_less():
    alone = Capacity(cpus=1, sample_cost_s=50e-6, nominal_mhz=0.0)
    many = Capacity(cpus=256, sample_cost_s=50e-6, nominal_mhz=0.0)
    assert alone.max_rate(Limits(cpu_share=0.03)) == pytest.approx(600.0)
    assert many.max_rate(Limits(cpu_share=0.03)) == pytest.approx(0.5 / 50e-6 / 256)


def test_a_window_above_the_cap_is_shortened_in_proportion():
    result = scheduled(
        event(duration_ms=60_000), event(turn=1, duration_ms=20_000), limits=Limits(max_seconds=40.0)
    )
    assert [turn[0].seconds for turn in result.turns] == pytest.approx([30.0, 10.0])
    assert result.changes == ("shortened from 80 s to 40 s, the limit of this gateway",)


@pytest.mark.parametrize(
    ("senseless", "field"),
    [
        (plan(event(), visit_id=b"short"), "visit_id"),
        (plan(), "events"),
        (plan(*[event(turn=turn) for turn in range(33)]), "events"),
        (plan(event(), event()), "twice"),
        (plan(event("")), "name"),
        (plan(event("x" * 201)), "200 characters"),
        (plan(event("Page Faults")), "looks? like page-faults"),
        (plan(event("tracepoint:sched")), "tracepoint:sched:sched_switch"),
        (plan(event("tracepoint:../../etc:passwd")), "tracepoint:sched:sched_switch"),
        (plan(event("raw:300")), "raw:0x1c2"),
        (plan(event("pmu:cpu:event=zero")), "event=0x3c"),
        (plan(event(), counter_events=["tsc;"]), "counter_events"),
        (plan(event(), counter_events=["tsc"] * 65), "counter_events"),
        (plan(event(duration_ms=0)), "duration_ms"),
        (plan(event(rate_hz=-1.0)), "rate_hz"),
        (plan(event(rate_hz=math.inf)), "rate_hz"),
        (plan(event(rate_hz=math.nan)), "rate_hz"),
        (plan(event(period=(1 << 62) + 1)), "period"),
        (plan(event(), stack_bytes=100), "stack_bytes"),
        (plan(event(), stack_bytes=65536), "stack_bytes"),
        (plan(event(), max_depth=1025), "max_depth"),
    ],
)
def test_a_plan_without_sense_names_its_field(senseless: gateway_pb2.Plan, field: str):
    with pytest.raises(PlanRefused, match=field) as refused:
        schedule(senseless, Limits(), CHEAP)
    assert refused.value.reason == gateway_pb2.Refusal.INVALID


rates = st.floats(0.001, 1e9)


@given(rates, rates)
def test_the_factor_is_the_smallest_that_obeys(rate: float, highest: float):
    factor = thinning_factor(rate, highest)
    assert factor >= 1
    assert rate / factor <= highest * (1 + 1e-6)
    if factor > 1:
        assert rate / (factor - 1) > highest


measured = st.lists(st.floats(0, 1e7), min_size=1, max_size=8)


@given(measured, st.floats(1.0, 1e4))
def test_events_together_come_to_bearable_rates_and_the_modest_are_left_alone(
    rates: list[float], highest: float
):
    before = list(rates)
    for place in range(len(rates)):
        rates[place] /= shared_factor(rates[place], rates, highest)
    assert sum(rates) <= highest * 1.5 * (1 + 1e-9)
    for now, then in zip(rates, before, strict=True):
        assert now == then or then > highest / len(rates)


@given(st.floats(0, 1e7), st.floats(1.0, 1e4))
def test_one_event_alone_may_have_the_whole_budget(rate: float, highest: float):
    factor = shared_factor(rate, [rate], highest)
    assert (factor == 1) == (rate <= highest * 1.5)
    assert factor == 1 or rate / factor <= highest * (1 + 1e-9)


@given(st.floats(0.01, 1e6), st.floats(1.0, 1e4), st.floats(1e-6, 1e-2))
def test_whatever_is_asked_the_rate_stays_below_cap_and_budget(rate: float, cap: float, cost: float):
    limits, capacity = Limits(max_rate_hz=cap), Capacity(2, cost, 0.0)
    ((cpu,),) = schedule(plan(event(rate_hz=rate)), limits, capacity).turns
    assert cpu.period % cpu.requested_period == 0
    rounded = 1 + 0.5 / cpu.requested_period  # a period is a whole number of nanoseconds
    assert 1e9 / cpu.period <= min(cap, capacity.max_rate(limits)) * rounded * (1 + 1e-6)


@pytest.mark.parametrize("rate", [1, 19, 49, 97, 99, 199, 333, 499, 997, 999])
def test_a_rate_that_is_just_allowed_is_not_thinned(rate: int):
    ((cpu,),) = scheduled(event(rate_hz=rate), limits=Limits(max_rate_hz=rate)).turns
    assert cpu.period == cpu.requested_period
    assert bool(cpu.thinned_why) == (cpu.period != cpu.requested_period)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_reader_that_loses_more_than_a_tenth_is_given_what_it_could_read(kept: int, lost: int):
    factor = loss_factor(kept, lost)
    assert (factor == 1) == (lost <= 0.1 * (kept + lost))
    assert factor == 1 or (kept + lost) / factor <= max(kept, 1)


# Rings


@given(
    st.integers(1, 512),
    st.lists(st.tuples(st.sampled_from(["cpu", "page-faults"]), st.booleans()), min_size=1, max_size=32),
    st.floats(1, 5000),
)
def test_the_rings_of_events_sampled_together_never_take_more_than_there_is_room(
    cpus: int, kinds: list[tuple[str, bool]], rate: float
):
    """A made finder lets one event go by many names: 32 of them on 256 CPUs would pin 4 GiB."""
    wanted = [
        event(f"pmu:{kind}:n={number}", rate_hz=rate if kind == "cpu" else 0, stacks=stacks)
        for number, (kind, stacks) in enumerate(kinds)
    ]
    many, limits = Capacity(cpus, 1e-9, 2000.0), Limits(events=("*",), max_rate_hz=1e4)
    result = schedule(plan(*wanted), limits, many, lambda name: EVENTS[name.split(":")[1]])
    for turn in result.turns:
        together = [
            Sampling(one.event, one.period, one.stacks, 16384, together=len(turn)).ring_bytes(cpus)
            for one in turn
            if one.event
        ]
        assert sum(together) * cpus <= max_ring_bytes(cpus) == max(64 << 20, cpus << 20)
    assert [one.name for turn in result.turns for one in turn] == [one.event for one in wanted]
    assert bool(result.changes) == (len(result.turns) > 1)
    assert result.seconds == pytest.approx(1.0), "the time of the turn is shared, not multiplied"


def test_an_exact_plan_whose_rings_have_no_room_together_is_refused():
    wanted = [event(name, rate_hz=0, stacks=True) for name in ("cpu", "page-faults", "context-switches")]
    many = Capacity(256, 1e-9, 2000.0)
    assert [len(turn) for turn in schedule(plan(*wanted), Limits(), many, EVENTS.__getitem__).turns] == [2, 1]
    with pytest.raises(PlanRefused, match="their rings would need more than 256 MiB"):
        schedule(plan(*wanted, exact=True), Limits(), many, EVENTS.__getitem__)
    few = Capacity(4, 1e-9, 2000.0)
    assert len(schedule(plan(*wanted, exact=True), Limits(), few, EVENTS.__getitem__).turns) == 1


# What the operator allows


def never(name: str) -> Event:
    raise AssertionError(f"{name} was looked for although nobody may sample it")


def test_of_what_is_not_allowed_the_rest_goes_on_and_says_so():
    result = scheduled(
        event(), event("tracepoint:sched:sched_switch", rate_hz=0), event("raw:0x1c2", rate_hz=0)
    )
    ((cpu, tracepoint, raw),) = result.turns
    assert cpu.event is not None
    for left_out in (tracepoint, raw):
        assert left_out.event is None
        assert left_out.unavailable is not None
        assert left_out.unavailable.support == capture_pb2.SUPPORT_DENIED
    assert [change.split(": ")[0] for change in result.changes] == [tracepoint.name, raw.name]
    assert all("--allow-event" in change for change in result.changes)


def test_a_plan_of_nothing_that_is_allowed_is_refused_unseen():
    with pytest.raises(PlanRefused, match="--allow-event") as refused:
        schedule(plan(event("tracepoint:sched:sched_switch")), Limits(), CHEAP, never)
    assert refused.value.reason == gateway_pb2.Refusal.NOT_ALLOWED
    with pytest.raises(PlanRefused) as refused:
        schedule(plan(event("cpu")), Limits(events=("cycles",)), CHEAP, never)
    assert refused.value.reason == gateway_pb2.Refusal.NOT_ALLOWED


def test_counters_that_are_not_allowed_are_left_out():
    result = scheduled(event(), counter_events=["tsc", "pmu:msr:tsc"])
    assert result.counter_events == ("tsc",)
    assert result.changes == (
        "counter pmu:msr:tsc: left out: the operator of this gateway does not allow it (--allow-event)",
    )


@pytest.mark.parametrize(
    ("patterns", "name", "allowed"),
    [
        (["generic"], "cpu", True),
        (["generic"], "raw:0x1", False),
        (["cpu", "cycles"], "cycles", True),
        (["cpu", "cycles"], "instructions", False),
        (["generic", "tracepoint:sched:*"], "tracepoint:sched:sched_switch", True),
        (["generic", "tracepoint:sched:*"], "tracepoint:syscalls:sys_enter_openat", False),
        (["*"], "pmu:msr:tsc", True),
        (["TRACEPOINT:*"], "tracepoint:sched:sched_switch", False),
        ([], "cpu", False),
    ],
)
def test_patterns(patterns: list[str], name: str, allowed: bool):
    assert is_allowed(name, patterns) is allowed


@pytest.mark.parametrize(
    ("events", "fields"),
    [
        ([event(rate_hz=2000)], {}),
        ([event(duration_ms=90_000)], {}),
        ([event(), event("raw:0x1", rate_hz=0)], {}),
        ([event()], {"counter_events": ["raw:0x1"]}),
        ([event()], {"counted_cgroups": MAX_CGROUPS + 1}),
    ],
)
def test_an_exact_plan_is_refused_where_another_would_get_less(
    events: list[gateway_pb2.EventPlan], fields: dict[str, object]
):
    assert scheduled(*events, **fields).changes
    with pytest.raises(PlanRefused, match="the plan is exact") as refused:
        scheduled(*events, exact=True, **fields)
    assert refused.value.reason == gateway_pb2.Refusal.NOT_ALLOWED
    assert scheduled(event(), exact=True).exact
