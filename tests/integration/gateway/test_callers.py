"""Callers that are too many, go away, are killed, or do not speak gRPC."""

import os
import shutil
import socket
import subprocess
import sys
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fleetpb import gateway_pb2
from tests.gateway_daemon import (
    DEADLINE_S,
    PROGRAM,
    ROOT,
    Daemon,
    ask,
    plan,
    running,
    wait_until,
)

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted")]

Refusal = gateway_pb2.Refusal


def test_more_captures_than_allowed_are_refused_with_the_utilisation(tmp_path: Path):
    with running(tmp_path, "--max-concurrent", "1") as single, single.stub() as stub:
        first = stub.Capture(plan(seconds=20), timeout=DEADLINE_S)
        assert next(first).WhichOneof("reply") == "begin"
        visit = uuid.uuid4().bytes
        refusal = ask(stub, plan(visit_id=visit)).refusal
        assert refusal is not None
        assert refusal.reason == Refusal.TOO_MANY
        assert 0 < refusal.utilisation <= 1
        assert stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S).active_captures == 1
        first.cancel()
        single.wait_until_closed()
        # It may come again, as it was not served.
        wait_until(
            "the place is free",
            lambda: not stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S).active_captures,
        )
        assert ask(stub, plan(seconds=0.1, visit_id=visit)).capture.visit_id == visit


def test_a_cleaner_of_old_files_does_not_end_its_service(tmp_path: Path):
    # A socket's path has at most 107 bytes, which leaves no room for pytest's.
    with TemporaryDirectory() as cleaned:
        program = ("/usr/bin/env", f"TMPDIR={cleaned}", *PROGRAM)
        with running(tmp_path, "--idle-seconds", "0.2", program=program) as daemon:
            wait_until("the server has ended", lambda: daemon.server is None)
            (folder,) = Path(cleaned).iterdir()
            shutil.rmtree(folder)
            with daemon.stub() as stub:
                health = stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S, wait_for_ready=True)
                assert health.format == 1


@pytest.mark.slow
def test_nothing_is_open_before_the_first_call_and_after_a_capture(tmp_path: Path):
    with running(tmp_path, "--idle-seconds", "0.4") as idle:
        assert not idle.is_measuring
        with idle.stub() as stub:
            stream = stub.Capture(plan(seconds=0.8), timeout=DEADLINE_S)
            assert next(stream).WhichOneof("reply") == "begin"
            wait_until("perf events are open", lambda: idle.is_measuring)
            assert [reply.WhichOneof("reply") for reply in stream][-1] == "end"
            assert not idle.is_measuring
        wait_until("the server has ended", lambda: idle.server is None)
        assert len(list(Path(f"/proc/{idle.process.pid}/task").iterdir())) == 1
        # Whoever calls next starts it, and a visit that an earlier server took stays taken.
        visit = uuid.uuid4().bytes
        with idle.stub() as stub:
            assert ask(stub, plan(seconds=0.1, visit_id=visit)).end
        wait_until("the server has ended again", lambda: idle.server is None)
        with idle.stub() as stub:
            refusal = ask(stub, plan(visit_id=visit)).refusal
        assert refusal is not None
        assert refusal.reason == Refusal.REPEATED


def test_a_cancelled_capture_is_closed_and_the_next_one_works(daemon: Daemon):
    with daemon.stub() as stub:
        stream = stub.Capture(plan(seconds=20), timeout=DEADLINE_S)
        next(stream)
        wait_until("perf events are open", lambda: daemon.is_measuring)
        stream.cancel()
        daemon.wait_until_closed()
        assert ask(stub, plan(seconds=0.2)).capture.segments[0].samples


CALLER = """
import sys
import grpc
from fleetpb import gateway_pb2, gateway_pb2_grpc
stub = gateway_pb2_grpc.GatewayStub(grpc.insecure_channel(sys.argv[1]))
event = gateway_pb2.EventPlan(event="cpu", rate_hz=99, duration_ms=50000, stacks=True)
for reply in stub.Capture(gateway_pb2.Plan(visit_id=bytes.fromhex(sys.argv[2]), events=[event])):
    print(reply.WhichOneof("reply"), flush=True)
"""


def test_a_caller_that_is_killed_leaves_nothing_open(daemon: Daemon):
    with subprocess.Popen(
        [sys.executable, "-c", CALLER, daemon.target, uuid.uuid4().hex], stdout=subprocess.PIPE, cwd=ROOT
    ) as caller:
        assert caller.stdout is not None
        assert caller.stdout.readline() == b"begin\n"
        wait_until("perf events are open", lambda: daemon.is_measuring)
        caller.kill()
    daemon.wait_until_closed()
    with daemon.stub() as stub:
        assert ask(stub, plan(seconds=0.2)).end


def test_bytes_that_are_not_grpc_do_no_harm(daemon: Daemon):
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(daemon.target.removeprefix("unix:"))
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" + os.urandom(4096))
    with daemon.stub() as stub:
        assert ask(stub, plan(seconds=0.1)).end
