"""The collector's lake job: exports closed days to the lake, and deletes days that are too old from it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import structlog
from sqlalchemy import Engine

from collector.events import LakeMaintained, Watcher, ignore_event
from storage.errors import DatabaseError, DatabaseUnavailable, PartitionMissing, StorageError
from storage.segments.duck import Limits
from storage.segments.due_days import look
from storage.segments.export import export_day
from storage.segments.lake_retention import retain
from storage.segments.location import Lake

_log = structlog.get_logger("collector")


@dataclass(frozen=True, slots=True)
class LakeTerms:
    """Where closed days are exported to, and how long they are kept there."""

    lake: Lake
    keep_days: int
    limits: Limits
    facts_days: int | None = None
    """Days that PostgreSQL keeps facts; None: for ever."""


class _Stopped(Exception):
    """The collector is stopping; the export in progress is discarded."""


def maintain_lake(
    engine: Engine,
    terms: LakeTerms,
    now: datetime,
    stopping: Callable[[], bool],
    watcher: Watcher = ignore_event,
) -> None:
    """Export due days, drop old ones, and report to the log and `watcher`. Raises `DatabaseError`.

    A failure of the lake is logged and the work is tried again the next time: sampling goes on. A day that fails
    stops neither the other days nor retention.
    """
    first = now.date() - timedelta(days=terms.keep_days)
    try:
        with engine.connect() as connection:
            waiting = look(connection, terms.lake, now, terms.facts_days)
        days = [day for day in waiting.due if day >= first]
        why = {day: reason for day, reason in waiting.kept.items() if day >= first}
        later = {day: reason for day, reason in waiting.not_ingested.items() if day >= first}
        due, kept, whole = len(days) + len(later), len(why), True
        watcher(LakeMaintained(due, kept, whole=False))
        for day, reason in why.items():
            _log.error(
                "a day of the lake is not replaced; see `fleetprof lake status`",
                day=day.isoformat(),
                why=reason,
            )
        for day, reason in later.items():
            _log.info("a day is not exported yet", day=day.isoformat(), why=reason)
        for day in days:
            if stopping():
                return
            done = _export(engine, terms, day, stopping)
            due -= done
            whole &= done
            watcher(LakeMaintained(due, kept, whole=False))
        for day in retain(terms.lake, first):
            _log.info("day deleted from the lake", day=day.isoformat())
        watcher(LakeMaintained(due, kept, whole=whole))
    except _Stopped:
        return
    except DatabaseError:
        raise
    except StorageError as error:
        _log.error("the lake is not up to date", why=str(error))


def _export(engine: Engine, terms: LakeTerms, day: date, stopping: Callable[[], bool]) -> bool:
    """Export the day; whether no work is left for it. Raises `DatabaseUnavailable`, `_Stopped`."""

    def on_facts(_: int) -> None:
        if stopping():
            raise _Stopped

    try:
        made = export_day(engine, terms.lake, day, limits=terms.limits, on_facts=on_facts, stopping=stopping)
    except PartitionMissing:
        return True  # retention has dropped it in the meantime
    except DatabaseUnavailable:
        raise
    except StorageError as error:
        if stopping():
            raise _Stopped from error
        _log.error("the lake is not up to date", day=day.isoformat(), why=str(error))
        return False
    if made is not None:
        _log.info("day exported", day=day.isoformat(), facts=made.facts, bytes=made.bytes)
    return True
