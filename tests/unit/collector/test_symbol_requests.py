"""GIVEN an answer that breaks what takes it in WHEN it was asked for THEN that ask failed, and nothing else did."""

import asyncio
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from sqlalchemy import Engine

from collector.blocking_executor import BlockingExecutor
from collector.symbol_requests import SymbolRequester, SymbolRequestTerms
from storage import inventory
from storage.errors import ArchiveUnavailable, DatabaseBusy
from storage.symbols import requests
from storage.symbols.kinds import FileKind
from storage.symbols.requests import RequestOutcome, SymbolRequest
from symbolizer.errors import MalformedImage
from tests.fake_gateways import serving, symbols_of

ASK = SymbolRequest(
    binary_key="aa", kind=FileKind.SYMBOLS, name="app", path="/bin/app", visit_id=UUID(int=1), machine_id=1,
    machine="node7", address="", attempt=1,
)  # fmt: skip


class Database:
    """As an engine: nothing is asked of it here."""

    def begin(self) -> nullcontext[None]:
        return nullcontext()


class Accepting:
    """Raises these, one after the other, then finds the file of use."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    def __call__(self, _ask: SymbolRequest, path: Path, name: str) -> tuple[RequestOutcome, str]:
        assert (path.read_bytes(), name) == (b"file", "app")
        if self.errors:
            raise self.errors.pop(0)
        return RequestOutcome.GOT, ""


def look(monkeypatch: pytest.MonkeyPatch, accept: Accepting, *, stopped: bool = False) -> tuple[Any, ...]:
    """Outcome and detail that were noted."""
    noted: list[tuple[Any, ...]] = []
    monkeypatch.setattr(inventory, "machines", lambda _connection: [])
    monkeypatch.setattr(requests, "note_answer", lambda _connection, _ask, *answer: noted.append(answer))

    async def main(address: str) -> None:
        monkeypatch.setattr(requests, "claim_request", lambda *_args, **_more: replace(ASK, address=address))
        stop = asyncio.Event()
        if stopped:
            stop.set()
        executor = BlockingExecutor(stop)
        asking = SymbolRequester(
            cast("Engine", Database()),
            stop=asyncio.Event(), executor=executor, credentials=None, terms=SymbolRequestTerms(accept, 10),
        )  # fmt: skip
        try:
            assert await asking.look()
        finally:
            executor.close()

    with (
        tempfile.TemporaryDirectory(prefix="fp-", dir="/tmp") as folder,
        serving(Path(folder, "g")) as gateway,
    ):
        gateway.symbols = lambda _request: symbols_of(b"file", "app")
        asyncio.run(main(gateway.address))
    [answer] = noted
    return answer


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MalformedImage("The descriptions of its images are malformed."), "malformed"),
        (ArchiveUnavailable("The archive is away."), "archive is away"),
        (OSError(28, "No space left on device"), "No space left"),
        (ValueError(), "ValueError"),
    ],
)
def test_what_cannot_be_taken_in_fails_that_ask_only(
    monkeypatch: pytest.MonkeyPatch, error: Exception, says: str
):
    outcome, detail = look(monkeypatch, Accepting(error))
    assert outcome == RequestOutcome.FAILED
    assert says in detail


def test_a_full_disk_fails_that_ask_only(monkeypatch: pytest.MonkeyPatch):
    def full(**_how: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("collector.symbol_requests.tempfile", type("", (), {"TemporaryDirectory": full}))
    outcome, detail = look(monkeypatch, Accepting())
    assert outcome == RequestOutcome.FAILED
    assert "No space left" in detail


def test_a_database_that_is_away_ends_no_ask(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(DatabaseBusy):  # the collector is to stop, so nothing waits for it
        look(monkeypatch, Accepting(DatabaseBusy("A lock was not to be had.")), stopped=True)
