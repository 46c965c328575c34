"""Which database this is, for what is copied out of it and outlives it (the lake).

Ids of functions, stacks, machines mean something within one database only; and after a restore it gives ids away
anew that its former self has given away too, since the dump. So `fleetprof db restore` gives it another identity, and
so does the first look of a database that finds itself in another cluster or under another oid than its identity was given
in: it was copied by other means. Recovery to a point in time from a base backup shows neither.
"""

from dataclasses import dataclass
from uuid import uuid4

from sqlalchemy import Connection, Engine, insert, select, text

from storage.schema import database_identity

_LOCK = 0x666C_6964


@dataclass(frozen=True, slots=True)
class DatabaseIdentity:
    """The names that a database has had."""

    current: str | None
    """None: it has none yet, or that of the database it was copied from; see `ensure`."""
    former: frozenset[str]
    """What it was restored from, directly or not."""


def known(connection: Connection) -> DatabaseIdentity:
    """The identity as it stands; changes nothing."""
    c = database_identity.c
    rows = connection.execute(select(c.identity, c.server).order_by(c.number.desc())).all()
    names = [str(row.identity) for row in rows]
    if not rows or rows[0].server != _server(connection):
        return DatabaseIdentity(None, frozenset(names))
    return DatabaseIdentity(names[0], frozenset(names[1:]))


def ensure(engine: Engine) -> str:
    """The identity, given now where there is none of this server's yet."""
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        return known(connection).current or renew(connection)


def renew(connection: Connection) -> str:
    """Give the database another identity: ids it gives away from now on may have been given away before."""
    fresh = uuid4()
    connection.execute(insert(database_identity).values(identity=fresh, server=_server(connection)))
    return str(fresh)


def _server(connection: Connection) -> str:
    """Cluster and database. Where the cluster's number is not for us to read, the database's alone."""
    allowed = connection.scalar(text("SELECT has_function_privilege('pg_control_system()', 'EXECUTE')"))
    cluster = connection.scalar(text("SELECT system_identifier FROM pg_control_system()")) if allowed else ""
    oid = connection.scalar(text("SELECT oid::bigint FROM pg_database WHERE datname = current_database()"))
    return f"{cluster}/{oid}"
