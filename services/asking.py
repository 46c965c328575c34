"""What the collector does with symbols that a gateway sent: keeps them, and tells the workers."""

from pathlib import Path

import structlog
from sqlalchemy import Engine

from collector.symbol_asks import AskTerms
from services.settings import Settings
from storage.archive import Archive
from storage.symbols.asks import Ask
from storage.symbols.candidates import GATEWAY
from symbolizer.inspection.arrivals import Useless, take_in
from symbolizer.worker.broker import make_caller

_log = structlog.get_logger("collector")


def ask_terms(settings: Settings, engine: Engine, archive: Archive) -> AskTerms | None:
    """How gateways may be asked for symbols; None: not at all."""
    if not settings.symbol_asks_per_hour:
        return None
    name_functions = make_caller(settings.needed_redis_url())

    def accept(ask: Ask, path: Path, name: str) -> str:
        taken = take_in(engine, archive, path, wanted=ask.binary_key, name=name, origin=GATEWAY)
        if isinstance(taken, Useless):
            return taken.reason
        for key in taken.keys:
            try:
                name_functions(key, f"The gateway of {ask.machine} sent symbols of {name or ask.name}.")
            except Exception as error:  # noqa: BLE001 - kombu and redis have no common base class
                # Workers find the news by themselves, later.
                _log.warning("workers not told of symbols", key=key, why=str(error))
        return ""

    return AskTerms(accept, settings.symbol_asks_per_hour)
