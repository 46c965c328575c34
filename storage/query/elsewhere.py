"""Bulk rows from a database that is not PostgreSQL: what cannot be said in SQL that both understand.

All else a reading needs is the same statements on a connection of that database, in whose `info` this lies.
"""

from collections.abc import Mapping
from typing import Any, Protocol, cast

import numpy as np
from sqlalchemy import Connection, Select
from sqlalchemy.sql.elements import ColumnElement

from storage.query.arrays import Int32, Int64

_KEY = "fleetprof.elsewhere"

Columns = Mapping[str, np.ndarray[Any, Any]]


class Elsewhere(Protocol):
    """Reads in bulk; UUIDs are 16 bytes each. Every method raises `BadSelection`, `StorageError`."""

    profile_key: tuple[ColumnElement[Any], ...]
    """Columns that say which rows of `profile` are meant, for `facts`."""

    def columns(self, statement: Select[Any], limit: int) -> Columns:
        """The columns of a statement, by name, at most so many bytes."""
        ...

    def facts(self, profiles: Columns) -> tuple[Int64, Int64, Int64]:
        """(index into the profiles, ascending; stack; samples) of the facts of profiles, by the columns of their key."""
        ...

    def stacks(self, ids: Int64 | None) -> tuple[Int64, Int32, Int64]:
        """(ids, functions one stack after the other, outermost first, how many of each) of those there are; of all for None."""
        ...


def elsewhere(connection: Connection) -> Elsewhere | None:
    """How this connection's rows are read in bulk; None: it is PostgreSQL's."""
    return cast("Elsewhere | None", connection.info.get(_KEY))


def set_elsewhere(connection: Connection, reads: Elsewhere) -> None:
    """Have this connection's rows read like this."""
    connection.info[_KEY] = reads
