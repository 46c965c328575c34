"""Connections to PostgreSQL, and translation of their errors.

Callers pass a `Connection` to all other functions and own the transaction.
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
"""For temporary tables, which hold lookup keys; a server process never releases these buffers."""
RENEWED_AFTER_S = 600
"""Maximum age of a connection: its server process never shrinks its caches of tables and statements, buffers and sort
memory (measured: 1.5 MiB when new, 15 MiB after some minutes)."""

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
# By the first characters of a SQLSTATE that `_BY_CODE` lacks. psycopg2 raises OperationalError for all of these, and
# for errors that are not the server's fault: an oversized index row (54000), for example, fails on every retry.
_BY_CLASS: dict[str, type[errors.DatabaseError]] = {
    "08": errors.DatabaseUnavailable,  # connection
    "57P": errors.DatabaseUnavailable,  # server shuts down, starts, or ended the session
    "53": errors.DatabaseFull,  # disk, memory, connections
    "58": errors.DatabaseFull,  # disk failure
}
# psycopg2 gives a refused connection no SQLSTATE, only libpq's English text.
_REFUSALS = (
    "authentication failed",
    "does not exist",
    "no pg_hba.conf entry",
    "permission denied for database",
)


def normalized(url: str) -> URL:
    """The URL with this program's driver, for any form of `postgres://` URL.

    SQLAlchemy 2.1 would use psycopg 3 for a plain `postgresql://`. Raises `DatabaseRefused` for a URL of another
    database system.
    """
    try:
        parsed = make_url(url)
    except Exception as error:
        raise errors.DatabaseRefused("Invalid database URL: expected postgresql://user@host/name.") from error
    if parsed.get_backend_name() not in {"postgresql", "postgres"}:
        raise errors.DatabaseRefused(
            f"The database URL names {parsed.get_backend_name()}; fleetprof needs PostgreSQL."
        )
    return parsed.set(drivername="postgresql+psycopg2")


def open_engine(url: str, *, application: str, pool_size: int = 5) -> Engine:
    """A connection pool in UTC that raises `storage.errors`; connects on first use.

    `application` is shown in pg_stat_activity. Dispose of the engine when done; after a fork call
    `engine.dispose(close=False)` in the child.
    """
    engine = create_engine(
        normalized(url),
        pool_size=pool_size,
        pool_pre_ping=True,  # costs a round trip, but hides a server restart from requests
        # In rotation, the server process of every connection would get its own temporary tables and caches; with LIFO
        # only as many do as are needed concurrently.
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
    """A read-only connection with one snapshot for as long as it is open."""
    with (
        engine.connect().execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        ) as connection,
        connection.begin(),
    ):
        yield connection


@contextmanager
def translated() -> Iterator[None]:
    """Translate errors of raw psycopg2 cursors (COPY) in the block to `storage.errors`."""
    try:
        yield
    except psycopg2.Error as error:
        meant = translate(error)
        if meant is None:
            raise
        raise meant from error


def translate(error: BaseException) -> errors.DatabaseError | None:
    """The storage error for a psycopg2 error; None: a bug in this program."""
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
        return kind(f"The database schema does not match this program ({first}); run: fleetprof db upgrade")
    return kind(f"PostgreSQL: {first}")


def _translate_in_engine(context: ExceptionContext) -> None:
    meant = translate(context.original_exception)
    if meant is not None and not context.is_pre_ping:  # after a failed ping the pool reconnects
        raise meant from context.original_exception
