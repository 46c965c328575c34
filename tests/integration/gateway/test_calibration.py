"""The real daemon, confined as ever, asked to keep its CPUs busy."""

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from fleetpb import gateway_pb2
from gateway.machine.topology import online_cpus, read_topology
from tests.gateway_daemon import (
    CALIBRATION_MIB,
    DEADLINE_S,
    Daemon,
    ask,
    plan,
    require_calibration_memory,
    require_perf_events,
    running,
)

pytestmark = pytest.mark.integration

Request = gateway_pb2.CalibrateRequest
Refusal = gateway_pb2.CalibrateRefusal
# Tests run beside each other: here no machine is too busy.
OPTIONS = (
    "--allow-calibration",
    "--calibration-busy-percent",
    "100",
    "--calibration-mib",
    str(CALIBRATION_MIB),
)
FOREVER = Request(what=Request.MEMORY, duration_ms=10_000)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    require_calibration_memory()
    with running(tmp_path_factory.mktemp("gateway"), *OPTIONS) as started:
        yield started


def replies(daemon: Daemon, request: Request) -> list[gateway_pb2.CalibrateReply]:
    with daemon.stub() as stub:
        return list(stub.Calibrate(request, timeout=DEADLINE_S, wait_for_ready=True))


@pytest.mark.slow
def test_memory_is_measured_by_a_confined_gateway(daemon: Daemon):
    begin, *progress, end = replies(daemon, Request(what=Request.MEMORY, duration_ms=800, repetitions=2))
    if end.HasField("refusal"):  # what else runs on this machine is not ours to say
        assert end.refusal.reason == Refusal.BUSY
        assert "other work disturbed" in end.refusal.message
        return
    assert begin.begin.platform
    assert [each.progress.done for each in progress] == [0.0, 0.25, 0.75, 1.0]
    found = end.end
    assert len(found.latency_ns) == len(found.bytes_per_s) == 2
    assert all(value > 0 for value in (*found.latency_ns, *found.bytes_per_s))
    assert found.working_set_bytes >= 3 * found.cache_bytes
    assert set(found.reading_cpus) <= set(begin.begin.cpus)


def test_a_core_is_measured_or_there_is_none_with_two_threads(daemon: Daemon):
    answer = replies(daemon, Request(what=Request.SMT, work=Request.FLOAT, duration_ms=800, repetitions=2))
    if not any(len(cpus) == 2 for cpus in read_topology(online_cpus()).siblings):
        (only,) = answer
        assert only.refusal.reason == Refusal.NO_SIBLINGS
        assert "SMT" in only.refusal.message
    elif (last := answer[-1]).HasField("refusal"):  # what else runs on this machine is not ours to say
        assert last.refusal.reason == Refusal.BUSY
    else:
        assert len(last.end.single) == len(last.end.both) == 2


def test_a_capture_goes_first_and_no_second_one_is_measured(daemon: Daemon):
    require_perf_events()
    with daemon.stub() as stub:
        running_one = stub.Calibrate(FOREVER, timeout=DEADLINE_S, wait_for_ready=True)
        assert next(running_one).HasField("begin")
        assert replies(daemon, FOREVER)[0].refusal.reason == Refusal.BUSY
        assert not ask(stub, plan(seconds=0.2)).refusal
        last = list(running_one)[-1]
    assert last.refusal.reason == Refusal.BUSY
    assert "capture" in last.refusal.message


def test_a_caller_who_goes_ends_it(daemon: Daemon):
    with daemon.stub() as stub:
        left = stub.Calibrate(FOREVER, timeout=DEADLINE_S, wait_for_ready=True)
        assert next(left).HasField("begin")
        left.cancel()
        with pytest.raises(grpc.RpcError):
            list(left)
    short = Request(what=Request.MEMORY, duration_ms=200, repetitions=1)
    while (answer := replies(daemon, short))[-1].HasField("refusal"):  # until the one that was left has ended
        assert answer[-1].refusal.reason == Refusal.BUSY
        if "other work disturbed" in answer[-1].refusal.message:
            break


@pytest.mark.parametrize(
    ("options", "reason"), [((), Refusal.NOT_ALLOWED), ((*OPTIONS[:-1], "1"), Refusal.UNSUPPORTED)]
)
def test_what_the_operator_does_not_allow_is_refused(
    tmp_path: Path, options: tuple[str, ...], reason: Refusal.Reason
):
    with running(tmp_path, *options) as started:
        refused = replies(started, Request(what=Request.MEMORY))[-1].refusal
    assert refused.reason == reason
    assert "--" in refused.message
