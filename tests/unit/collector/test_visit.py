"""GIVEN a gateway that misbehaves in one way WHEN it is visited THEN the outcome says which."""

import asyncio
import socket
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import grpc
import pytest

from collector.errors import BadCredentials, NoAnswer
from collector.machine_description import describe
from collector.plan import plan_message
from collector.visit import Visitor
from fleetpb import capture_pb2
from fleetpb.gateway_pb2 import Refusal
from storage.campaigns import EventPlan
from storage.schema import Outcome
from tests import fake_gateways
from tests.fake_gateways import Reply, begin, capture_of, end, packed, refusal, serving

EVENTS = [EventPlan("cpu", 50, rate_hz=99)]
VISITOR = Visitor(first_reply_s=5.0)


@pytest.fixture
def socket_path():
    with tempfile.TemporaryDirectory(prefix="fp-", dir="/tmp") as folder:
        yield Path(folder, "gateway.sock")


def visit(address, *, visitor=VISITOR, deadline_s=10.0, **more):
    plan = plan_message(uuid4(), EVENTS, campaign="test")
    return asyncio.run(visitor.visit(address, plan, deadline_s=deadline_s, **more))


def behaves(path, *replies, **more):
    """The visit of a gateway that says exactly this."""
    with serving(path, lambda _plan, _context: iter(replies)) as gateway:
        return visit(gateway.address, **more)


def test_an_answer_brings_the_capture_and_what_is_known_of_the_machine(socket_path):
    skew = timedelta(seconds=90)

    def behaviour(plan, _context):
        wall = int((datetime.now(UTC) + skew).timestamp() * 1e9)
        blob = packed(capture_of(plan.visit_id, wall_start_ns=wall))
        yield from (begin(0.25, "rate thinned to 49 Hz"), Reply(data=blob), end(blob))

    with serving(socket_path, behaviour) as gateway:
        visited = visit(gateway.address)
    assert (visited.outcome, visited.detail) == (Outcome.ANSWERED, "")
    assert visited.seconds == 0.05
    assert visited.utilisation == 0.5
    assert visited.changes == ("rate thinned to 49 Hz",)
    assert visited.clock_skew_s == pytest.approx(90, abs=5)
    assert visited.received is not None
    assert visited.received.samples == 7
    assert visited.received.machine == fake_gateways.MACHINE
    assert visited.received.raw_bytes > 0
    assert visited.started_at <= visited.ended_at


def test_progress_is_passed_on(socket_path):
    heard = []
    with serving(socket_path) as gateway:
        visit(gateway.address, on_progress=lambda *said: heard.append(said))
    assert heard == [(0.5, 3)]


def test_down(socket_path):
    visited = visit(f"unix:{socket_path}")
    assert visited.outcome == Outcome.UNREACHABLE
    assert "No such file" in visited.detail
    assert visited.utilisation is None


def test_a_port_that_never_answers():
    with socket.create_server(("127.0.0.1", 0)) as silent, tempfile.TemporaryDirectory() as folder:
        visitor = Visitor(credentials=self_signed(Path(folder)), first_reply_s=0.3)
        visited = visit(f"127.0.0.1:{silent.getsockname()[1]}", visitor=visitor)
    assert (visited.outcome, visited.detail) == (
        Outcome.UNREACHABLE,
        "Cannot connect within 0.3 s.",
    )


def test_something_else_listens_there(socket_path):
    server = grpc.server(fake_gateways.futures.ThreadPoolExecutor(1))
    server.add_insecure_port(f"unix:{socket_path}")
    server.start()
    try:
        visited = visit(f"unix:{socket_path}")
    finally:
        server.stop(None).wait(5)
    assert visited.outcome == Outcome.GARBAGE
    assert "not a fleetprof gateway" in visited.detail


def test_over_its_limits(socket_path):
    visited = behaves(socket_path, refusal(Refusal.TOO_MANY, "2 captures\nare taken", 0.97))
    assert (visited.outcome, visited.detail) == (Outcome.REFUSED, "TOO_MANY: 2 captures are taken")
    assert visited.utilisation == 0.97


def test_broken_while_sampling(socket_path):
    visited = behaves(socket_path, begin(0.4), refusal(Refusal.FAILED, "the ring broke"))
    assert (visited.outcome, visited.utilisation) == (Outcome.FAILED, 0.4)


def test_a_server_that_crashes(socket_path):
    def crash(_plan, _context):
        yield begin(0.4)
        raise RuntimeError("boom")

    with serving(socket_path, crash) as gateway:
        visited = visit(gateway.address)
    assert (visited.outcome, visited.utilisation) == (Outcome.FAILED, 0.4)
    assert "boom" in visited.detail


def test_permission_denied(socket_path):
    def deny(_plan, context):
        yield context.abort(grpc.StatusCode.PERMISSION_DENIED, "not you")

    with serving(socket_path, deny) as gateway:
        assert visit(gateway.address).outcome == Outcome.REFUSED


def test_times_out_without_a_word(socket_path):
    with serving(socket_path, fake_gateways.says_nothing) as gateway:
        visited = visit(gateway.address, visitor=Visitor(first_reply_s=0.3))
    assert (visited.outcome, visited.detail) == (
        Outcome.TIMEOUT,
        "The gateway did not begin within 0.3 s.",
    )


def test_times_out_while_sampling_and_its_utilisation_is_kept(socket_path):
    with serving(socket_path, fake_gateways.hangs_after_begin) as gateway:
        visited = visit(gateway.address, deadline_s=0.5)
    assert (visited.outcome, visited.utilisation) == (Outcome.TIMEOUT, 0.25)


def test_an_answer_is_kept_though_the_stream_is_never_closed(socket_path):
    def lingers(plan, context):
        yield from fake_gateways.answers(plan, context)
        yield from fake_gateways.until_cancelled(context)

    with serving(socket_path, lingers) as gateway:
        assert visit(gateway.address, deadline_s=1.0).outcome == Outcome.ANSWERED


@pytest.mark.parametrize(
    ("replies", "why"),
    [
        ([b"\xff\xff\xff\xff"], "not a message of the gateway's protocol"),
        ([begin(), Reply(data=b"junk"), end(b"junk")], "Cannot decompress"),
        ([begin(), Reply(data=b"junk"), end(b"junk", sha256=b"\0" * 32)], "SHA-256"),
        ([begin(), Reply(data=b"junk")], "stopped before its end"),
        ([], "stopped before its end"),
        (
            [begin(), Reply(data=packed(capture_of(b"x" * 16))), end(packed(capture_of(b"x" * 16)))],
            "to another visit",
        ),
        ([begin(), Reply(data=b"x" * (2 << 20))], "over the size limit"),
    ],
    ids=["bytes", "blob", "sha", "truncated", "empty", "other-visit", "huge-message"],
)
def test_garbage(socket_path, replies, why):
    visited = behaves(socket_path, *replies)
    assert visited.outcome == Outcome.GARBAGE
    assert why in visited.detail
    assert visited.received is None


def test_an_endless_stream_is_cut_off(socket_path):
    def endless(_plan, _context):
        yield begin()
        while True:
            yield Reply(data=b"x" * 10_000)

    with serving(socket_path, endless) as gateway:
        visited = visit(gateway.address, visitor=Visitor(blob_limit=100_000))
    assert visited.outcome == Outcome.GARBAGE
    assert "100,000 bytes" in visited.detail


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e9, float("nan")])
def test_a_window_longer_than_the_call_is_garbage(socket_path, seconds):
    def boasts(plan, _context):
        blob = packed(capture_of(plan.visit_id))
        yield from (begin(), Reply(data=blob), end(blob, seconds=seconds))

    with serving(socket_path, boasts) as gateway:
        assert visit(gateway.address).outcome == Outcome.GARBAGE


def test_an_address_without_credentials_is_not_called():
    visited = visit("localhost:7071")
    assert visited.outcome == Outcome.UNREACHABLE
    assert "FLEETPROF_GATEWAY_CA" in visited.detail


def test_mutual_tls(tmp_path):
    ours = self_signed(tmp_path)
    server = grpc.ssl_server_credentials(
        [(ours.key.read_bytes(), ours.certificate.read_bytes())],
        ours.ca.read_bytes(),
        require_client_auth=True,
    )
    with serving(tmp_path, credentials=server) as gateway:
        assert visit(gateway.address, visitor=Visitor(ours)).outcome == Outcome.ANSWERED
        strangers = self_signed(tmp_path / "other")
        visited = visit(gateway.address, visitor=Visitor(strangers))
    assert visited.outcome == Outcome.UNREACHABLE


def test_unreadable_credentials_are_named(tmp_path):
    ours = self_signed(tmp_path)
    ours.key.unlink()
    with pytest.raises(BadCredentials, match=r"key\.pem"):
        asyncio.run(describe("localhost:1", ours))


def test_describe(socket_path):
    with serving(socket_path) as gateway:
        assert asyncio.run(describe(gateway.address)) == fake_gateways.MACHINE
        gateway.machine = b"\xff\xff"
        with pytest.raises(NoAnswer, match="not a description"):
            asyncio.run(describe(gateway.address))
        gateway.machine = capture_pb2.Machine()
        with pytest.raises(NoAnswer):
            asyncio.run(describe(gateway.address))
    with pytest.raises(NoAnswer, match="UNAVAILABLE"):
        asyncio.run(describe(gateway.address))


def self_signed(folder):
    """One certificate that is its own authority, for both sides."""
    import subprocess

    from collector.channel import Credentials

    folder.mkdir(exist_ok=True)
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return Credentials(ca=certificate, certificate=certificate, key=key)
