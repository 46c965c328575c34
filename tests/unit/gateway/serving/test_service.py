"""GIVEN a process that has kept much memory WHEN work is under way THEN it stays until that has ended."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from fleetpb import gateway_pb2
from gateway.ledger import Ledger
from gateway.serving.service import GatewayService
from gateway.settings import Limits


class Desk:
    """Sends one reply, as the ledger of the real one says meanwhile."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def answer(self, *_: object) -> Iterator[gateway_pb2.SymbolsReply]:
        self.ledger.note_sending(sending=True)
        try:
            yield gateway_pb2.SymbolsReply()
        finally:
            self.ledger.note_sending(sending=False)


@pytest.mark.parametrize("whole", [True, False])
def test_it_does_not_retire_while_symbols_are_sent_but_after(whole: bool):
    ledger, retired = Ledger(), []
    station: Any = SimpleNamespace(limits=Limits(max_memory_bytes=1))
    desk: Any = Desk(ledger)
    service = GatewayService(station, ledger, desk, retire=lambda: retired.append(1))
    context: Any = SimpleNamespace(add_callback=lambda _: True)
    replies: Any = service.Symbols(gateway_pb2.SymbolsRequest(), context)
    next(replies)
    service._retire_if_swollen()  # as at the end of a capture
    assert not retired
    if whole:
        assert list(replies) == []
    else:
        replies.close()
    assert retired == [1]
