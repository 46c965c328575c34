"""GIVEN a process that has kept much memory WHEN work is under way THEN it stays until that has ended."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from fleetpb import gateway_pb2
from gateway.capture.packer import Packed
from gateway.served_visits import ServedVisits
from gateway.serving import service as serving
from gateway.serving.service import GatewayService
from gateway.settings import Limits


class Desk:
    """Sends one reply, as the ledger of the real one says meanwhile."""

    def __init__(self, served_visits: ServedVisits) -> None:
        self.served_visits = served_visits

    def answer(self, *_: object) -> Iterator[gateway_pb2.SymbolsReply]:
        self.served_visits.note_sending(sending=True)
        try:
            yield gateway_pb2.SymbolsReply()
        finally:
            self.served_visits.note_sending(sending=False)


@pytest.mark.parametrize("whole", [True, False])
def test_it_does_not_retire_while_symbols_are_sent_but_after(whole: bool):
    served_visits, retired = ServedVisits(), []
    resources: Any = SimpleNamespace(limits=Limits(max_memory_bytes=1))
    desk: Any = Desk(served_visits)
    bench: Any = None
    service = GatewayService(resources, served_visits, desk, bench, retire=lambda: retired.append(1))
    context: Any = SimpleNamespace(add_callback=lambda _: True)
    replies: Any = service.Symbols(gateway_pb2.SymbolsRequest(), context)
    next(replies)
    service._retire_if_large()  # as at the end of a capture
    assert not retired
    if whole:
        assert list(replies) == []
    else:
        replies.close()
    assert retired == [1]


def test_a_capture_is_watched_while_it_is_taken_and_not_while_it_is_sent(monkeypatch: pytest.MonkeyPatch):
    """A caller takes what it is sent when it likes; that must not end the server."""
    did: list[object] = []

    @contextmanager
    def watched(seconds: float, visit: str) -> Iterator[None]:
        did.append((seconds, visit))
        yield
        did.append("unwatched")

    class Taken:
        sampled_events, seconds, utilisation = 1, 1.0, 0.0

        def run(self, _: object) -> Iterator[object]:
            did.append("run")
            return iter(())

        def pack(self) -> Packed:
            did.append("pack")
            return Packed(b"data", bytes(32), 4, 1)

        def seen(self) -> list[object]:
            return []

    planned = SimpleNamespace(seconds=3.0, changes=[])
    monkeypatch.setattr(serving, "watchdog", watched)
    monkeypatch.setattr(serving, "CaptureRunner", lambda *_: Taken())
    monkeypatch.setattr(serving, "schedule", lambda *_: planned)
    monkeypatch.setattr(serving, "call_started_at", time.monotonic)
    monkeypatch.setattr(GatewayService, "_require_one_event", lambda *_: None)
    resources: Any = SimpleNamespace(limits=Limits(), capacity=lambda: None, utilisation=lambda: 0.0)
    desk: Any = SimpleNamespace(note=lambda _: None)
    bench: Any = None
    service = GatewayService(resources, ServedVisits(), desk, bench)
    context: Any = SimpleNamespace(add_callback=lambda _: True)
    plan = gateway_pb2.Plan(visit_id=bytes(16), ttl_ms=60_000)
    for reply in service.Capture(plan, context):
        assert not reply.HasField("refusal")
        did.append(reply.ByteSize() > 0)
    visit = "00000000-0000-0000-0000-000000000000"
    assert did[1:5] == [(3.0, visit), "run", "pack", "unwatched"]
    assert (did[0], did[5:]) == (True, [True, True]), "what is sent before and after"
