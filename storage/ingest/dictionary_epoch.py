"""The epoch of the dictionaries, which keeps ingestion and the sweep of unused rows apart.

Ingestion looks ids up, caches them, and uses them later in another transaction. Meanwhile a sweep may find that one of
them is unused. So every transaction that looks ids up or writes rows that use them first calls `hold`, and cached ids
belong to the epoch of their lookup. A sweep begins by starting the next epoch under an exclusive lock. Earlier
ingestions are in the tables, where the sweep finds them. A later ingestion finds its epoch ended, clears its cache and
looks everything up again. Each lookup then records its ids in `dictionary_touched`, so that the sweep keeps them.

The lock is on the table, not on the row. A row lock writes to the row, and a steady stream of readers starves the
writer. Table locks queue, and a shared one needs no write.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

_SHARED = "LOCK TABLE dictionary_epoch IN ROW SHARE MODE; SELECT epoch, marking FROM dictionary_epoch"
_ALONE = "LOCK TABLE dictionary_epoch IN EXCLUSIVE MODE; SELECT epoch, marking FROM dictionary_epoch"


@dataclass(frozen=True, slots=True)
class Epoch:
    """The state of the dictionaries until the transaction ends."""

    number: int
    marking: bool
    """Whether a sweep is looking for used rows: then ids that are returned are recorded."""


def hold(connection: Connection) -> Epoch:
    """Keep every dictionary row until the transaction ends; call it first in the transaction.

    The isolation level must be READ COMMITTED: an older snapshot would show an older epoch.
    """
    return Epoch(*connection.exec_driver_sql(_SHARED).one())


def hold_alone(connection: Connection) -> Epoch:
    """Wait for all holders, and block lookups and ingestion until the transaction ends.

    Raises `DatabaseBusy` after the connection's `lock_timeout`; later calls of `hold` queue behind this one.
    """
    return Epoch(*connection.exec_driver_sql(_ALONE).one())
