"""Symbols sent by gateways: the collector stores usable ones and notifies the workers."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog
from sqlalchemy import Engine

from collector.symbol_requests import Accept, SymbolRequestTerms
from services.configuration.settings import Settings
from storage.archive import Archive
from storage.symbols.answers import Standing
from storage.symbols.requests import RequestOutcome, SymbolRequest
from symbolizer.inspection.gateway_symbols import RejectedSymbols, Sender, receive_symbols
from symbolizer.worker.broker import make_caller

_log = structlog.get_logger("collector")
_OUTCOMES: Final = {
    Standing.AGREED: RequestOutcome.GOT,
    Standing.ALONE: RequestOutcome.GOT,
    Standing.UNCONFIRMED: RequestOutcome.UNCONFIRMED,
    Standing.DISPUTED: RequestOutcome.DISPUTED,
}


def symbol_request_terms(settings: Settings, engine: Engine, archive: Archive) -> SymbolRequestTerms | None:
    """The limits on requesting symbols from gateways; None: no requests."""
    if not settings.symbol_requests_per_hour:
        return None
    announce = make_caller(settings.needed_redis_url())
    return SymbolRequestTerms(acceptor(engine, archive, announce), settings.symbol_requests_per_hour)


def acceptor(engine: Engine, archive: Archive, announce: Callable[[str, str], None]) -> Accept:
    """Make the function that stores files sent by gateways.

    `announce` gets a binary's key and a reason; workers then name its functions.
    """

    def accept(ask: SymbolRequest, path: Path, name: str) -> tuple[RequestOutcome, str]:
        sender = Sender(ask.machine_id, ask.machine)
        taken = receive_symbols(engine, archive, path, wanted=ask.binary_key, name=name, sender=sender)
        if isinstance(taken, RejectedSymbols):
            return RequestOutcome.FAILED, taken.reason
        for key in taken.keys:
            try:
                announce(key, f"The gateway of {ask.machine} sent symbols of {name or ask.name}.")
            except Exception as error:  # noqa: BLE001 - kombu and redis have no common base class
                # Workers find the change by themselves later.
                _log.warning("workers not notified of symbols", key=key, why=str(error))
        return _OUTCOMES[taken.standing], taken.reason

    return accept
