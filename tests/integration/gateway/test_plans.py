"""Plans: what is refused and why, and what is done in the place of what is above a cap."""

import uuid
from pathlib import Path

import pytest

from fleetpb import capture_pb2, gateway_pb2
from tests.gateway_daemon import (
    DEADLINE_S,
    Daemon,
    ask,
    plan,
    running,
)

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted")]

Refusal = gateway_pb2.Refusal


def test_an_unknown_event_beside_a_known_one_is_a_segment_that_says_so(daemon: Daemon):
    events = [
        gateway_pb2.EventPlan(event="cpu", rate_hz=99, duration_ms=200, stacks=True),
        gateway_pb2.EventPlan(event="heap", period=1, duration_ms=200),
    ]
    with daemon.stub() as stub:
        capture = ask(stub, plan(*events)).capture
    verdicts = {capture.strings[segment.event]: segment.support for segment in capture.segments}
    assert verdicts == {"cpu": capture_pb2.SUPPORT_OK, "heap": capture_pb2.SUPPORT_UNSUPPORTED}
    assert any("heap" in note for note in capture.notes)


def test_a_plan_of_unknown_events_is_refused(daemon: Daemon):
    with daemon.stub() as stub:
        refusal = ask(stub, plan(gateway_pb2.EventPlan(event="heap", period=1, duration_ms=200))).refusal
    assert refusal is not None
    assert refusal.reason == Refusal.UNSUPPORTED
    assert "heap" in refusal.message


def test_a_visit_is_served_once(daemon: Daemon):
    visit = uuid.uuid4().bytes
    with daemon.stub() as stub:
        assert ask(stub, plan(seconds=0.1, visit_id=visit)).capture.visit_id == visit
        again = ask(stub, plan(seconds=0.1, visit_id=visit)).refusal
    assert again is not None
    assert again.reason == Refusal.REPEATED


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (plan(visit_id=b"short"), "visit_id"),
        (gateway_pb2.Plan(visit_id=bytes(16)), "events"),
        (plan(stack_bytes=1001), "stack_bytes"),
        (plan(max_depth=100_000), "max_depth"),
        (plan(seconds=0), "duration_ms"),
        (plan(rate_hz=float("nan")), "rate_hz"),
        (plan(rate_hz=-1), "rate_hz"),
        (plan(gateway_pb2.EventPlan(event="page-faults", rate_hz=99, duration_ms=100)), "period"),
    ],
)
def test_a_plan_without_sense_is_refused_by_the_name_of_its_field(
    daemon: Daemon, wanted: gateway_pb2.Plan, field: str
):
    with daemon.stub() as stub:
        refusal = ask(stub, wanted).refusal
    assert refusal is not None
    assert refusal.reason == Refusal.INVALID
    assert field in refusal.message


@pytest.mark.slow
def test_a_plan_whose_turn_comes_too_late_is_void(daemon: Daemon):
    with daemon.stub() as stub:
        stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S)
        # Each of them measures for 0.2 s, one after the other. When the second is answered all the others
        # are there, and the plan waits behind those that have no thread yet.
        waiting = [stub.Health.future(gateway_pb2.HealthRequest(), timeout=DEADLINE_S) for _ in range(16)]
        for call in waiting[:2]:
            call.result()
        refusal = ask(stub, plan(ttl_ms=1)).refusal
        for call in waiting:
            call.result()
    assert refusal is not None
    assert refusal.reason == Refusal.EXPIRED


@pytest.mark.slow
def test_a_rate_above_the_cap_is_thinned_by_a_whole_factor_and_said_so(tmp_path: Path):
    with running(tmp_path, "--max-rate-hz", "100") as capped, capped.stub() as stub:
        answer = ask(stub, plan(rate_hz=7000, seconds=0.3))
    capture = answer.capture
    segment = capture.segments[0]
    assert segment.requested_period == round(1e9 / 7000)
    assert segment.period == 70 * segment.requested_period
    why = capture.strings[segment.thinned_why]
    assert "100 per second" in why
    assert answer.begin is not None
    assert any(why in change for change in answer.begin.changes)
    assert any(why in note for note in capture.notes)


@pytest.mark.slow
def test_a_window_above_the_cap_is_shortened_and_said_so(tmp_path: Path):
    with running(tmp_path, "--max-seconds", "0.3") as short, short.stub() as stub:
        answer = ask(stub, plan(seconds=20))
    assert answer.begin is not None
    assert answer.begin.duration_ms == 300
    assert "shortened" in answer.begin.changes[0]
    assert answer.capture.window.duration_ns < 5e9
