"""Authentication of callers: one-time login links, the sessions that they open, and Bearer tokens.

One secret signs links and sessions. It lies in the state directory, and only its user can read it. So a command of the
same user can make a link without calling the API, sessions outlive a restart, and removing the file ends them all.

    link     /login?token=<expiry>.<nonce>.<signature>                   works once and opens a session
    session  a cookie and its binding (services.api.sessions)
    token    Authorization: Bearer <token>                               from the settings
"""

import hmac
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from pathlib import Path

from services.api.sessions import SESSION_SECONDS, Halves, Sessions
from services.api.signing import Marks, secret_of, signed, verified
from services.errors import SettingsProblem

LOGIN_SECONDS = 12 * 3600
"""An unused link expires after this time."""
SHORTEST_TOKEN = 16
"""Characters of a Bearer token. Shorter ones can be guessed."""


class Role(IntEnum):
    """What a caller may do. Each role includes the lower ones."""

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3


class LoginRefused(Exception):
    """A link opens no session. The text is the reason, a sentence."""


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token of the settings. Only its digest is stored."""

    role: Role
    digest: bytes


class Access:
    """Determines callers' roles. Safe to share between threads and, through the state directory, processes."""

    def __init__(self, state_dir: Path, tokens: Iterable[BearerToken] = ()) -> None:
        """Creates the secret if the state directory has none."""
        self._secret = secret_of(state_dir)
        self._spent = Marks(state_dir / "spent-logins", 2 * LOGIN_SECONDS)
        self.sessions = Sessions(state_dir, self._secret)
        self._tokens = tuple(tokens)

    def open_session(self, token: str) -> Halves:
        """Open a session and spend the link's token. Raises LoginRefused."""
        fields = verified(self._secret, "login", token, 2)
        if fields is None:
            raise LoginRefused("This login link is not valid for this fleetprof.")
        expiry, nonce = fields
        if int(expiry) < time.time():
            raise LoginRefused("This login link has expired.")
        if not self._spent.make(nonce):
            raise LoginRefused("This login link was already used. Each link works once.")
        return self.sessions.open(Role.ADMIN.name.lower())

    def own_session(self, seconds: int = SESSION_SECONDS) -> Halves:
        """Open a viewer session of this length for requests of this user's own processes."""
        return self.sessions.open(Role.VIEWER.name.lower(), longest_s=seconds)

    def role_of_token(self, token: str) -> Role | None:
        """The role of a Bearer token. Right and wrong tokens take equally long."""
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        roles = [known.role for known in self._tokens if hmac.compare_digest(known.digest, digest)]
        return max(roles, default=None)


def mint_login_url(state_dir: Path, api_url: str) -> str:
    """A link that opens one session; for the user who owns the state directory."""
    fields = (str(int(time.time()) + LOGIN_SECONDS), secrets.token_urlsafe(18))
    return f"{api_url.rstrip('/')}/login?token={signed(secret_of(state_dir), 'login', fields)}"


def parse_tokens(texts: Iterable[str]) -> tuple[BearerToken, ...]:
    """Tokens written as `role:token`. Raises SettingsProblem; its text never contains the token."""
    found = []
    for number, text in enumerate(texts, start=1):
        role, colon, token = text.partition(":")
        if not colon or role.upper() not in Role.__members__:
            roles = ", ".join(name.lower() for name in Role.__members__)
            raise SettingsProblem(f"FLEETPROF_API_TOKENS: entry {number} is not role:token. Roles: {roles}.")
        if len(token) < SHORTEST_TOKEN:
            raise SettingsProblem(
                f"FLEETPROF_API_TOKENS: the token of entry {number} has fewer than {SHORTEST_TOKEN} "
                "characters. Make one with `openssl rand -base64 24`."
            )
        found.append(BearerToken(Role[role.upper()], sha256(token.encode()).digest()))
    return tuple(found)
