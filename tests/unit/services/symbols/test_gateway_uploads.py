"""What the collector does with what a gateway sent: keep it, tell the workers, and never fail for the telling."""

from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from sqlalchemy import Engine

from services.configuration.settings import Settings
from services.symbols import gateway_uploads
from storage.archive import Archive
from storage.symbols.answers import Standing
from storage.symbols.kinds import FileKind
from storage.symbols.requests import RequestOutcome, SymbolRequest
from symbolizer.inspection.gateway_symbols import RejectedSymbols, StoredSymbols

ASK = SymbolRequest(
    binary_key="aa", kind=FileKind.SYMBOLS, name="app", path="/bin/app", visit_id=UUID(int=1), machine_id=1,
    machine="node7", address="unix:/x", attempt=1,
)  # fmt: skip


def terms(per_hour: int) -> gateway_uploads.SymbolRequestTerms | None:
    settings = Settings(symbol_requests_per_hour=per_hour, redis_url="redis://127.0.0.1:1/0")
    return gateway_uploads.symbol_request_terms(settings, cast("Engine", None), cast("Archive", None))


def accept(
    monkeypatch: pytest.MonkeyPatch, taken: StoredSymbols | RejectedSymbols, *, broken: bool = False
) -> tuple[tuple[RequestOutcome, str], list[Any]]:
    told: list[Any] = []

    def call(key: str, why: str) -> None:
        told.append((key, why))
        if broken:
            raise ConnectionError("no broker")

    monkeypatch.setattr(gateway_uploads, "make_caller", lambda _url: call)
    monkeypatch.setattr(gateway_uploads, "receive_symbols", lambda *_args, **_more: taken)
    made = terms(5)
    assert made is not None
    assert made.per_hour == 5
    return made.accept(ASK, Path("answer"), "app"), told


def test_nobody_is_asked_unless_a_rate_is_set():
    assert terms(0) is None


def test_workers_are_told_of_every_binary_that_may_have_names(monkeypatch: pytest.MonkeyPatch):
    answer, told = accept(monkeypatch, StoredSymbols(("aa", "bb")))
    assert answer == (RequestOutcome.GOT, "")
    assert [key for key, _ in told] == ["aa", "bb"]
    assert all("node7" in why for _, why in told)


def test_a_broker_that_is_away_does_not_undo_what_was_kept(monkeypatch: pytest.MonkeyPatch):
    answer, told = accept(monkeypatch, StoredSymbols(("aa", "bb")), broken=True)
    assert answer == (RequestOutcome.GOT, "")
    assert len(told) == 2


def test_what_is_of_no_use_is_said(monkeypatch: pytest.MonkeyPatch):
    assert accept(monkeypatch, RejectedSymbols("It is stripped.")) == (
        (RequestOutcome.FAILED, "It is stripped."),
        [],
    )


def test_of_what_is_not_used_yet_no_worker_hears(monkeypatch: pytest.MonkeyPatch):
    for standing, outcome in (
        (Standing.UNCONFIRMED, RequestOutcome.UNCONFIRMED),
        (Standing.DISPUTED, RequestOutcome.DISPUTED),
    ):
        assert accept(monkeypatch, StoredSymbols((), standing, "why")) == ((outcome, "why"), [])
    assert accept(monkeypatch, StoredSymbols(("aa",), Standing.ALONE))[0] == (RequestOutcome.GOT, "")
