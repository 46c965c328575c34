"""Identity of the database, for copies that outlive it (the lake).

Ids of functions, stacks and machines are valid within one database only. A restored database assigns ids again that the
original assigned after the dump. So `fleetprof db restore` assigns a new identity. So does the first access of a
database that finds itself in another cluster or under another oid than recorded with its identity: it was copied by
other means. Point-in-time recovery from a base backup changes neither and is not detected.
"""

from dataclasses import dataclass
from uuid import uuid4

from sqlalchemy import Connection, Engine, insert, select, text

from storage.schema import database_identity

_LOCK = 0x666C_6964


@dataclass(frozen=True, slots=True)
class DatabaseIdentity:
    """The identities that a database has had."""

    current: str | None
    """None: none yet, or only that of the database it was copied from; see `ensure`."""
    former: frozenset[str]
    """Identities of the databases it was restored from, directly or indirectly."""


def known(connection: Connection) -> DatabaseIdentity:
    """The stored identity; read-only."""
    c = database_identity.c
    rows = connection.execute(select(c.identity, c.server).order_by(c.number.desc())).all()
    names = [str(row.identity) for row in rows]
    if not rows or rows[0].server != _server(connection):
        return DatabaseIdentity(None, frozenset(names))
    return DatabaseIdentity(names[0], frozenset(names[1:]))


def ensure(engine: Engine) -> str:
    """The identity, assigned now if this database has none of its own."""
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        return known(connection).current or renew(connection)


def renew(connection: Connection) -> str:
    """Assign a new identity: ids assigned from now on may have been assigned before by the original."""
    fresh = uuid4()
    connection.execute(insert(database_identity).values(identity=fresh, server=_server(connection)))
    return str(fresh)


def _server(connection: Connection) -> str:
    """Cluster and database oid, or the oid alone if the cluster's identifier is not readable."""
    allowed = connection.scalar(text("SELECT has_function_privilege('pg_control_system()', 'EXECUTE')"))
    cluster = connection.scalar(text("SELECT system_identifier FROM pg_control_system()")) if allowed else ""
    oid = connection.scalar(text("SELECT oid::bigint FROM pg_database WHERE datname = current_database()"))
    return f"{cluster}/{oid}"
