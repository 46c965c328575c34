"""Binaries whose symbols changed recently; workers with cached images check this before they ingest.

Otherwise a worker would use cached symbols from before an upload until its cache expires, and a reprocessing would
ingest the old names again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, func, select, union_all

from storage.schema import debug_file, reprocessing, symcache

OVERLAP: Final = timedelta(minutes=1)
"""A change becomes visible when its transaction ends, later than its recorded moment."""


@dataclass(frozen=True, slots=True)
class News:
    """Changes since a given moment."""

    changed: Mapping[str, datetime]
    """By binary the moment of its last change: new or rejected files, new caches, and requested reprocessings.

    Some may have been reported before."""
    until: datetime
    """The `since` of the next call."""


def changed_since(connection: Connection, since: datetime | None) -> News:
    """The binaries whose symbols changed since a `News.until`; None: no binaries, only the moment to start from."""
    now = connection.execute(select(func.clock_timestamp())).scalar_one()
    if since is None:
        return News({}, now)
    after = since - OVERLAP
    changes = union_all(
        *(
            select(moment.table.c.binary_key, moment.label("at")).where(moment > after)
            for moment in (debug_file.c.changed_at, symcache.c.built_at, reprocessing.c.requested_at)
        )
    ).subquery()
    rows = connection.execute(
        select(changes.c.binary_key, func.max(changes.c.at).label("at")).group_by(changes.c.binary_key)
    )
    return News({row.binary_key: row.at for row in rows}, now)
