"""The real daemon, asked for nonsense of every kind: it refuses with a reason, and goes on."""

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetpb import gateway_pb2
from tests.gateway_daemon import DEADLINE_S, Daemon, ask, plan, running, status

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted"), pytest.mark.slow]
DAEMON_OPTIONS = ("--allow-event", "*", "--max-seconds", "0.02")
"""Allows every event for a moment, so that each plan reaches the kernel."""

Refusal = gateway_pb2.Refusal
U32, U64 = st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 64) - 1)
SMALL = st.integers(0, 300)
NAMES = st.one_of(
    st.sampled_from(
        ["cpu", "cycles", "page-faults", "context-switches", "instructions", "raw:0x1", "pmu:msr:tsc"]
    ),
    st.sampled_from(["tracepoint:sched:sched_switch", "tracepoint:../../../etc:passwd", "pmu:../..:event=1"]),
    st.text(max_size=300),
)
EVENTS = st.builds(
    gateway_pb2.EventPlan,
    event=NAMES,
    rate_hz=st.one_of(st.floats(), st.sampled_from([0.0, 99.0, 1e9, 1e-300])),
    period=st.one_of(SMALL, U64),
    duration_ms=st.one_of(SMALL, U32),
    stacks=st.booleans(),
    turn=st.one_of(st.integers(0, 3), U32),
)
PLANS = st.builds(
    gateway_pb2.Plan,
    visit_id=st.one_of(st.binary(min_size=16, max_size=16), st.binary(max_size=40)),
    ttl_ms=st.one_of(st.just(0), U32),
    events=st.lists(EVENTS, max_size=4),
    campaign=st.text(max_size=100),
    stack_bytes=st.one_of(st.sampled_from([0, 8, 65528]), U32),
    max_depth=st.one_of(st.integers(0, 1024), U32),
    counters=st.booleans(),
    counter_events=st.lists(NAMES, max_size=3),
    counted_cgroups=st.one_of(SMALL, U32),
    exact=st.booleans(),
)


def cut(wanted: gateway_pb2.Plan, less: int) -> bytes:
    """A message that broke off."""
    return wanted.SerializeToString()[:-less]


def consume(answer: object) -> None:
    if isinstance(answer, Iterator):
        list(answer)


@pytest.fixture(scope="module")
def channel(daemon: Daemon) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(daemon.target) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _goes_on(daemon: Daemon) -> Iterator[None]:
    """Whatever a test asks: the same process serves the next visit, and it met nothing it did not expect."""
    server = daemon.server
    yield
    with daemon.stub() as stub:
        assert ask(stub, plan(seconds=0.02)).end
    assert daemon.server == server
    log = daemon.log.read_text()
    assert "Traceback" not in log
    assert "server died" not in log


HOSTILE = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@HOSTILE
@given(wanted=PLANS)
def test_a_plan_is_carried_out_or_refused_with_a_reason(daemon: Daemon, wanted: gateway_pb2.Plan):
    with daemon.stub() as stub:
        answer = ask(stub, wanted)
    if answer.refusal is None:
        assert answer.capture.visit_id == wanted.visit_id
    else:
        assert answer.refusal.reason not in {Refusal.REASON_UNSPECIFIED, Refusal.FAILED}, answer.refusal
        assert answer.refusal.message


@HOSTILE
@given(message=st.one_of(st.binary(max_size=200), st.builds(cut, PLANS, st.integers(1, 30))))
@pytest.mark.parametrize("method", ["Capture", "Symbols", "Calibrate", "Describe", "Health"])
def test_bytes_that_are_no_request_are_refused(channel: grpc.Channel, method: str, message: bytes):
    path = f"/fleetpb.v1.Gateway/{method}"
    if method in {"Capture", "Symbols", "Calibrate"}:
        call = channel.unary_stream(path)
        answered = status(lambda: list(call(message, timeout=DEADLINE_S)))
    else:
        single = channel.unary_unary(path)
        answered = status(lambda: single(message, timeout=DEADLINE_S))
    assert answered in {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT}


def test_what_does_not_decode_is_an_invalid_argument(channel: grpc.Channel):
    for call in (
        channel.unary_stream("/fleetpb.v1.Gateway/Capture"),
        channel.unary_unary("/fleetpb.v1.Gateway/Health"),
    ):
        answered = status(lambda: consume(call(b"\xff\xff\xff", timeout=DEADLINE_S)))  # noqa: B023 - called at once
        assert answered == grpc.StatusCode.INVALID_ARGUMENT


def test_a_request_that_is_too_large_is_turned_away_before_it_is_read(channel: grpc.Channel):
    call = channel.unary_stream("/fleetpb.v1.Gateway/Capture")
    assert (
        status(lambda: list(call(bytes(1 << 20), timeout=DEADLINE_S))) == grpc.StatusCode.RESOURCE_EXHAUSTED
    )


def test_a_method_that_is_none_is_unimplemented(channel: grpc.Channel):
    call = channel.unary_unary("/fleetpb.v1.Gateway/Shell")
    assert status(lambda: call(b"", timeout=DEADLINE_S)) == grpc.StatusCode.UNIMPLEMENTED


def test_refusals_without_end_do_not_fill_the_log(tmp_path: Path):
    with running(tmp_path) as quiet, quiet.stub() as stub:
        for _ in range(13):
            assert ask(stub, plan(visit_id=b"short")).refusal
        said = quiet.log.read_text().count("capture refused")
    assert said == 10
