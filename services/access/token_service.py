"""Creates, lists and revokes API tokens; its answers are those of /api/v1/tokens."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Engine

from services.access.errors import UnusableEntry
from services.api.tokens import Role, digest_of_token, new_token
from storage.access import api_tokens
from storage.access.api_tokens import ApiToken
from storage.database import snapshot
from storage.errors import UnknownToken
from storage.query.selections.times import format_time

Json = dict[str, Any]
LONGEST_DAYS: Final = 3650
NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}"
"""Pattern of names of tokens: they are part of paths and log lines."""


class TokenService:
    """The API tokens of one database. Safe to share between threads."""

    def __init__(self, engine: Engine, on_change: Callable[[], None] = lambda: None) -> None:
        """The caller keeps ownership of the engine. `on_change` is called after each committed change."""
        self._engine = engine
        self._on_change = on_change

    def create(self, name: str, role: Role, *, days: int | None, created_by: str = "") -> Json:
        """Store a new token: `CreatedToken`, the only answer with its text. `days`: until it expires; None: never.

        Raises UnusableEntry, `NameTaken`, `TooManyRows`, `DatabaseError`.
        """
        if not re.fullmatch(NAME, name):
            raise UnusableEntry(
                f"{name[:60]!r} is not a valid name of a token.",
                parameter="name",
                hint="Use at most 100 letters, digits, points, dashes, underscores and @, a letter or digit first.",
            )
        if days is not None and not 1 <= days <= LONGEST_DAYS:
            raise UnusableEntry(
                f"A token cannot expire in {days} days.",
                parameter="days",
                hint=f"Choose 1 to {LONGEST_DAYS:,} days, or no expiry.",
            )
        token = new_token()
        with self._engine.begin() as connection:
            created = api_tokens.create(
                connection,
                name=name,
                role=role.word,
                digest=digest_of_token(token),
                created_by=created_by,
                expires_at=None if days is None else datetime.now(UTC) + timedelta(days=days),
            )
        self._on_change()
        return {**_token(created), "token": token}

    def listing(self) -> Json:
        """All tokens, by name: `Tokens`."""
        with snapshot(self._engine) as connection:
            return {"tokens": [_token(token) for token in api_tokens.listing(connection)]}

    def revoke(self, name: str) -> Json:
        """Remove a token: `RevokedToken`. Raises `UnknownToken`, `DatabaseError`."""
        if not re.fullmatch(NAME, name):  # the database refuses some characters
            raise UnknownToken(f"There is no API token named {name[:60]!r}.")
        with self._engine.begin() as connection:
            revoked = api_tokens.revoke(connection, name)
        self._on_change()
        return {"name": revoked.name}


def _token(token: ApiToken) -> Json:
    return {
        "name": token.name,
        "role": token.role,
        "created_at": format_time(token.created_at),
        "created_by": token.created_by,
        "expires_at": None if token.expires_at is None else format_time(token.expires_at),
        "last_used": None if token.used_on is None else token.used_on.isoformat(),
    }
