"""The epoch of the dictionaries: how ingestions and the sweep of unused rows keep out of each other's way.

An ingestion looks ids up, remembers them, and uses them later, in another transaction; meanwhile a
sweep may find that nobody uses one of them. So every transaction that looks ids up or writes rows
that use them first takes `hold`, and the ids a process remembers belong to the epoch they were
looked up in. A sweep begins with the next epoch, alone: what was ingested before is in the tables for
it to find; whoever ingests after finds his epoch over, forgets, and looks everything up again, which
notes what he was given (`dictionary_touched`) for the sweep to keep.

The lock is the table's, not the row's: a row lock writes to the row and lets a steady stream of
readers starve the one writer; table locks queue, and sharing one costs no write at all.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

_SHARED = "LOCK TABLE dictionary_epoch IN ROW SHARE MODE; SELECT epoch, marking FROM dictionary_epoch"
_ALONE = "LOCK TABLE dictionary_epoch IN EXCLUSIVE MODE; SELECT epoch, marking FROM dictionary_epoch"


@dataclass(frozen=True, slots=True)
class Epoch:
    """What the dictionaries are in until the transaction ends."""

    number: int
    marking: bool
    """A sweep looks for rows in use: ids that are handed out are noted."""


def hold(connection: Connection) -> Epoch:
    """Keep every dictionary row until the transaction ends; call it first in the transaction.

    The isolation level must be READ COMMITTED: an older snapshot would show an older epoch.
    """
    return Epoch(*connection.exec_driver_sql(_SHARED).one())


def hold_alone(connection: Connection) -> Epoch:
    """Wait for all who hold it, and let nobody look up or ingest anything until the transaction ends.

    Raises `DatabaseBusy` after the connection's `lock_timeout`; those who come later wait behind this.
    """
    return Epoch(*connection.exec_driver_sql(_ALONE).one())
