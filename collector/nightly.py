"""The collector's nightly job: computes the regressions of the last UTC day, once over all collectors."""

from collections.abc import Callable
from datetime import datetime

import structlog
from sqlalchemy import Engine

from storage.errors import DatabaseUnavailable, StorageError
from storage.query.query_engine import OlderDays, QueryEngine
from storage.query.releases.due_night import due_night
from storage.query.releases.night import run_night
from storage.snapshots.query_budget import Limits

_log = structlog.get_logger("collector")


def compute_regressions(
    engine: Engine,
    limits: Limits,
    now: datetime,
    stopping: Callable[[], bool],
    older: Callable[[], OlderDays] | None = None,
) -> None:
    """Compute the last night's regressions if they are due. Raises `DatabaseUnavailable`.

    `limits` bound each of the questions. A failure is logged and recorded, and the night is tried again later: sampling
    goes on. Caches of the questions are freed at the end.
    """
    with engine.connect() as connection:
        day = due_night(connection, now)
    if day is None:
        return
    queries = QueryEngine(engine, limits=limits, older=older)
    try:
        found = run_night(engine, queries, day, stopped=stopping)
    except DatabaseUnavailable:
        raise
    except StorageError as error:
        _log.error("regressions of a day are not computed", day=day.isoformat(), why=str(error))
        return
    except Exception:  # noqa: BLE001 - a defect in a comparison must not end the collector
        _log.exception("regressions of a day are not computed", day=day.isoformat())
        return
    finally:
        queries.close()
    if found is not None:
        changed = sum(one.comparison.verdict == "changed" for one in found)
        _log.info("regressions computed", day=day.isoformat(), applications=len(found), changed=changed)
