"""Login links that were used and sessions that were ended, for all API processes of a database."""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, Table, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from storage.schema import ended_session, spent_link

_CLOCK_ERROR: Final = timedelta(hours=1)
"""Rows are kept this much longer: the clocks of API processes, which check expiry, may differ from the database's."""


def spend_link(connection: Connection, nonce: str, expires_at: datetime) -> bool:
    """Record that a link was used; True for the first caller only. Removes rows of expired links."""
    return _add(connection, spent_link, nonce, expires_at)


def end_session(connection: Connection, nonce: str, expires_at: datetime) -> None:
    """Record that a session was ended. Removes rows of sessions that are over in any case."""
    _add(connection, ended_session, nonce, expires_at)


def ended_sessions(connection: Connection) -> frozenset[str]:
    """The nonces of ended sessions."""
    return frozenset(connection.scalars(select(ended_session.c.nonce)))


def _add(connection: Connection, table: Table, nonce: str, expires_at: datetime) -> bool:
    connection.execute(delete(table).where(table.c.expires_at < func.now() - _CLOCK_ERROR))
    added = insert(table).values(nonce=nonce, expires_at=expires_at).on_conflict_do_nothing()
    return bool(connection.execute(added).rowcount)
