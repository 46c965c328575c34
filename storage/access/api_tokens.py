"""API tokens that administrators create. The database has only their digests.

A token has 256 random bits, so its SHA-256 cannot be inverted by guessing: a slow hash, which protects short passwords,
would only slow each request. Someone who reads the database learns no token.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from sqlalchemy import Connection, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert

from storage.errors import NameTaken, TooManyRows, UnknownToken
from storage.schema import api_token

MOST_TOKENS: Final = 1000
"""Maximum tokens in a database: each API process holds all of them in memory."""


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token without its secret."""

    token_id: int
    name: str
    role: str
    """viewer, operator or admin."""
    digest: bytes
    """SHA-256."""
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    """None: it does not expire."""
    used_on: date | None
    """Last UTC day with a request; None: never used."""


def create(
    connection: Connection,
    *,
    name: str,
    role: str,
    digest: bytes,
    created_by: str,
    expires_at: datetime | None,
) -> ApiToken:
    """Store a new token. Raises `NameTaken`, `TooManyRows`."""
    # Serializes concurrent calls, so that the limit holds.
    connection.execute(text("LOCK TABLE api_token IN SHARE ROW EXCLUSIVE MODE"))
    if (connection.scalar(select(func.count()).select_from(api_token)) or 0) >= MOST_TOKENS:
        raise TooManyRows(f"There are {MOST_TOKENS:,} API tokens, which is the limit. Revoke unused ones.")
    row = connection.execute(
        insert(api_token)
        .values(name=name, role=role, digest=digest, created_by=created_by, expires_at=expires_at)
        .on_conflict_do_nothing(index_elements=[api_token.c.name])
        .returning(api_token)
    ).one_or_none()
    if row is None:
        raise NameTaken(f"There is an API token named {name!r} already.")
    return ApiToken(*row)


def listing(connection: Connection) -> tuple[ApiToken, ...]:
    """All tokens, expired ones too, by name."""
    return tuple(ApiToken(*row) for row in connection.execute(select(api_token).order_by(api_token.c.name)))


def revoke(connection: Connection, name: str) -> ApiToken:
    """Remove a token; it was this one. Raises `UnknownToken`."""
    removed = delete(api_token).where(api_token.c.name == name).returning(api_token)
    row = connection.execute(removed).one_or_none()
    if row is None:
        raise UnknownToken(f"There is no API token named {name!r}; see: fleetprof tokens list")
    return ApiToken(*row)


def note_use(connection: Connection, token_ids: Collection[int]) -> None:
    """Record that these tokens were used today, in UTC."""
    today = func.current_date()
    connection.execute(
        update(api_token)
        .where(api_token.c.token_id.in_(token_ids), api_token.c.used_on.is_distinct_from(today))
        .values(used_on=today)
    )
