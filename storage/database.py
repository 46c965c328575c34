"""Connections to PostgreSQL: how they are opened, and what their errors mean.

Everything above takes a `Connection` and leaves the transaction to its caller.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg2
from psycopg2 import errorcodes
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, ExceptionContext, make_url

from storage import errors
from storage.snapshots import copy_binary, query_budget

CONNECT_TIMEOUT_S = 10
_TEMP_BUFFERS = "2MB"
"""For temporary tables, which hold what is looked up; a server process never gives these back."""
RENEWED_AFTER_S = 600
"""A connection is opened anew once it is that old: its server process keeps the most that it ever needed, of
caches of tables and statements, of buffers and of sorts (measured: 1.5 MiB new, 15 MiB after some minutes)."""

_BY_CODE: dict[str, type[errors.DatabaseError]] = {
    errorcodes.UNDEFINED_TABLE: errors.NotMigrated,
    errorcodes.UNDEFINED_COLUMN: errors.NotMigrated,
    errorcodes.LOCK_NOT_AVAILABLE: errors.DatabaseBusy,
    errorcodes.DEADLOCK_DETECTED: errors.DatabaseBusy,
    errorcodes.SERIALIZATION_FAILURE: errors.DatabaseBusy,
    errorcodes.QUERY_CANCELED: errors.DatabaseBusy,
    errorcodes.DISK_FULL: errors.DatabaseFull,
    errorcodes.TOO_MANY_CONNECTIONS: errors.DatabaseFull,
    errorcodes.INVALID_CATALOG_NAME: errors.DatabaseRefused,
    errorcodes.INVALID_PASSWORD: errors.DatabaseRefused,
    errorcodes.INVALID_AUTHORIZATION_SPECIFICATION: errors.DatabaseRefused,
    errorcodes.INSUFFICIENT_PRIVILEGE: errors.DatabaseRefused,
    errorcodes.OBJECT_IN_USE: errors.DatabaseBusy,
}
# By the first letters of a SQLSTATE that the table above lacks. psycopg2 makes an OperationalError of
# all of these, and of others that are no fault of the server's: an index row that is too long (54000)
# is refused however often it is sent.
_BY_CLASS: dict[str, type[errors.DatabaseError]] = {
    "08": errors.DatabaseUnavailable,  # the connection
    "57P": errors.DatabaseUnavailable,  # the server shuts down, starts, or ended the session
    "53": errors.DatabaseFull,  # disk, memory, connections
    "58": errors.DatabaseFull,  # its disk fails it
}
# A refused connection carries no SQLSTATE in psycopg2, only libpq's English text.
_REFUSALS = (
    "authentication failed",
    "does not exist",
    "no pg_hba.conf entry",
    "permission denied for database",
)


def normalized(url: str) -> URL:
    """The URL with the driver this program uses, whatever `postgres://` form it was written in.

    SQLAlchemy 2.1 would take psycopg 3 for a plain `postgresql://`. Raises `DatabaseRefused` for a
    URL of another database.
    """
    try:
        parsed = make_url(url)
    except Exception as error:
        raise errors.DatabaseRefused(
            "The database URL cannot be read; write postgresql://user@host/name."
        ) from error
    if parsed.get_backend_name() not in {"postgresql", "postgres"}:
        raise errors.DatabaseRefused(
            f"The database URL names {parsed.get_backend_name()}; fleetprof needs PostgreSQL."
        )
    return parsed.set(drivername="postgresql+psycopg2")


def open_engine(url: str, *, application: str, pool_size: int = 5) -> Engine:
    """A pool of connections that speak UTC and raise `storage.errors`; connects on first use.

    `application` shows up in pg_stat_activity. Dispose of the engine when done; after a fork call
    `engine.dispose(close=False)` in the child.
    """
    engine = create_engine(
        normalized(url),
        pool_size=pool_size,
        pool_pre_ping=True,  # a restarted server costs a round trip, not a failed request
        # In turn, every connection's server process would get temporary tables and caches of its own; so those
        # do that are needed at the same time.
        pool_use_lifo=True,
        pool_recycle=RENEWED_AFTER_S,
        connect_args={
            "application_name": f"fleetprof-{application}"[:63],
            "connect_timeout": CONNECT_TIMEOUT_S,
            "options": f"-c timezone=UTC -c temp_buffers={_TEMP_BUFFERS}",
        },
    )
    event.listen(engine, "handle_error", _translate_in_engine)
    copy_binary.allow_copying(engine)
    query_budget.count_waits(engine)
    return engine


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """A read-only connection that sees one moment of the database for as long as it is open."""
    with (
        engine.connect().execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        ) as connection,
        connection.begin(),
    ):
        yield connection


@contextmanager
def translated() -> Iterator[None]:
    """Errors of a raw psycopg2 cursor (COPY) inside become `storage.errors` too."""
    try:
        yield
    except psycopg2.Error as error:
        meant = translate(error)
        if meant is None:
            raise
        raise meant from error


def translate(error: BaseException) -> errors.DatabaseError | None:
    """What a psycopg2 error means to an operator; None: it is a mistake of this program."""
    if not isinstance(error, psycopg2.Error):
        return None
    said = str(error).strip().splitlines()
    first = said[0] if said else type(error).__name__
    if error.pgcode == errorcodes.CHECK_VIOLATION and "no partition of relation" in first:
        return errors.PartitionMissing(f"{first}.")
    code = error.pgcode or ""
    kind = _BY_CODE.get(code) or _BY_CLASS.get(code[:3]) or _BY_CLASS.get(code[:2])
    if not code and isinstance(error, psycopg2.OperationalError | psycopg2.InterfaceError):
        refused = any(text in first for text in _REFUSALS)
        kind = errors.DatabaseRefused if refused else errors.DatabaseUnavailable
    if kind is None:
        return None
    if kind is errors.NotMigrated:
        return kind(f"The database's schema is not this program's ({first}); run: fleetprof db upgrade")
    return kind(f"PostgreSQL: {first}")


def _translate_in_engine(context: ExceptionContext) -> None:
    meant = translate(context.original_exception)
    if meant is not None and not context.is_pre_ping:  # after a failed ping the pool reconnects
        raise meant from context.original_exception
