"""Bearer tokens: those of the settings, and those that administrators create in the database."""

import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from typing import Final

from services.errors import SettingsProblem
from storage.access.api_tokens import ApiToken

SHORTEST_TOKEN: Final = 16
"""Characters of a token of the settings. Shorter ones can be guessed."""
_PREFIX: Final = "fleetprof_"
"""Begins every created token, so that scanners for leaked secrets recognise it."""
_RANDOM_BYTES: Final = 32


class Role(IntEnum):
    """What a caller may do. Each role includes the lower ones."""

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3

    @property
    def word(self) -> str:
        """The role as it is written in settings and answers."""
        return self.name.lower()


ROLES: Final = ", ".join(role.word for role in Role)


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token that is accepted. Only its digest is stored."""

    role: Role
    digest: bytes
    """SHA-256."""
    name: str = ""
    """Empty: it is one of the settings."""
    expires_at: float | None = None
    """Seconds since 1970; None: it does not expire."""
    token_id: int | None = None
    """Its row in the database; None: it is one of the settings."""

    @property
    def has_expired(self) -> bool:
        """Whether its time is over."""
        return self.expires_at is not None and self.expires_at <= time.time()


def new_token() -> str:
    """A token of 256 random bits."""
    return _PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)


def digest_of_token(token: str) -> bytes:
    """What is stored of a token."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


def of_record(token: ApiToken) -> BearerToken:
    """The token of a row."""
    expires_at = None if token.expires_at is None else token.expires_at.timestamp()
    return BearerToken(Role[token.role.upper()], token.digest, token.name, expires_at, token.token_id)


def parse_tokens(texts: Iterable[str]) -> tuple[BearerToken, ...]:
    """Tokens written as `role:token`. Raises SettingsProblem; its text never contains the token."""
    found = []
    for number, text in enumerate(texts, start=1):
        role, colon, token = text.partition(":")
        if not colon or role.upper() not in Role.__members__:
            raise SettingsProblem(f"FLEETPROF_API_TOKENS: entry {number} is not role:token. Roles: {ROLES}.")
        if len(token) < SHORTEST_TOKEN:
            raise SettingsProblem(
                f"FLEETPROF_API_TOKENS: the token of entry {number} has fewer than {SHORTEST_TOKEN} "
                "characters. Make one with `openssl rand -base64 24`."
            )
        found.append(BearerToken(Role[role.upper()], digest_of_token(token)))
    return tuple(found)
