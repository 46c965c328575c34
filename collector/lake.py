"""The lake as part of the collector's beat: closed days go into it, days that are too old go from it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy import Engine

from storage.errors import DatabaseError, StorageError
from storage.lake.duck import Limits
from storage.lake.export import due, export_day
from storage.lake.place import Lake
from storage.lake.retain import retain

_log = structlog.get_logger("collector")


@dataclass(frozen=True, slots=True)
class LakeTerms:
    """Where closed days are exported to, and how long they are kept there."""

    lake: Lake
    keep_days: int
    limits: Limits


class _Stopped(Exception):
    """The collector is to end; what was being written does not count."""


def tend(engine: Engine, terms: LakeTerms, now: datetime, stopping: Callable[[], bool]) -> None:
    """Export what is due, drop what is too old, and tell the log. Raises `DatabaseError`.

    A lake that fails is logged and tried again the next time: sampling goes on.
    """

    def on_facts(_: int) -> None:
        if stopping():
            raise _Stopped

    first = now.date() - timedelta(days=terms.keep_days)
    try:
        with engine.connect() as connection:
            days = [day for day in due(connection, terms.lake, now) if day >= first]
        for day in days:
            if stopping():
                return
            made = export_day(engine, terms.lake, day, limits=terms.limits, on_facts=on_facts)
            if made is not None:
                _log.info("day exported", day=day.isoformat(), facts=made.facts, bytes=made.bytes)
        for day in retain(terms.lake, first):
            _log.info("day deleted from the lake", day=day.isoformat())
    except _Stopped:
        return
    except DatabaseError:
        raise
    except StorageError as error:
        _log.error("the lake is not up to date", why=str(error))
