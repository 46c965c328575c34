"""Which binaries' symbols changed lately: a worker that remembers images asks before it lands.

Without it a worker would go on with what it found before an upload until it looks again by itself,
and a relanding would land the old names once more.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, func, select, union

from storage.schema import debug_file, relanding, symcache

OVERLAP: Final = timedelta(minutes=1)
"""A change becomes visible when its transaction ends, later than the moment it is noted with."""


@dataclass(frozen=True, slots=True)
class News:
    """What changed since some moment."""

    binary_keys: AbstractSet[str]
    """New or rejected files, new caches, and relandings asked for; some may be known already."""
    until: datetime
    """Ask from here on next time."""


def changed_since(connection: Connection, since: datetime | None) -> News:
    """The binaries whose symbols changed since a `News.until`; None: none, just the moment to ask from."""
    now = connection.execute(select(func.clock_timestamp())).scalar_one()
    if since is None:
        return News(frozenset(), now)
    after = since - OVERLAP
    changes = union(
        select(debug_file.c.binary_key).where(debug_file.c.changed_at > after),
        select(symcache.c.binary_key).where(symcache.c.built_at > after),
        select(relanding.c.binary_key).where(relanding.c.asked_at > after),
    )
    return News(frozenset(connection.scalars(changes)), now)
