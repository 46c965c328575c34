"""Who may ask: one-time links, the sessions they open, and Bearer tokens.

Everything is signed with one secret that lies in the state directory, readable by its user only. So a
command run by the same user can make a link without asking the API, sessions outlive a restart, and
removing the file ends them all.

    link     /login?token=<expiry>.<nonce>.<signature>                   works once, then opens a session
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
"""A link that nobody opened stops working then."""
SHORTEST_TOKEN = 16
"""Characters of a Bearer token: fewer can be guessed."""


class Role(IntEnum):
    """What a caller may do; each role may do what the lower ones may."""

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3


class LoginRefused(Exception):
    """A link does not open a session; the text says why, as a sentence."""


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token of the settings; only its digest is kept."""

    role: Role
    digest: bytes


class Access:
    """Decides who may ask. Safe to share between threads and, through the state directory, processes."""

    def __init__(self, state_dir: Path, tokens: Iterable[BearerToken] = ()) -> None:
        """Makes the secret when the state directory has none yet."""
        self._secret = secret_of(state_dir)
        self._spent = Marks(state_dir / "spent-logins", 2 * LOGIN_SECONDS)
        self.sessions = Sessions(state_dir, self._secret)
        self._tokens = tuple(tokens)

    def open_session(self, token: str) -> Halves:
        """A session for a link's token, which is spent by this. Raises LoginRefused."""
        fields = verified(self._secret, "login", token, 2)
        if fields is None:
            raise LoginRefused("This link is not one of this fleetprof.")
        expiry, nonce = fields
        if int(expiry) < time.time():
            raise LoginRefused("This link is too old.")
        if not self._spent.make(nonce):
            raise LoginRefused("This link has been used already; each works once.")
        return self.sessions.open(Role.ADMIN.name.lower())

    def own_session(self, seconds: int = SESSION_SECONDS) -> Halves:
        """For what this user's own processes ask in so many seconds: a viewer's, so it may see what anybody signed in may."""
        return self.sessions.open(Role.VIEWER.name.lower(), longest_s=seconds)

    def role_of_token(self, token: str) -> Role | None:
        """The role of a Bearer token; takes as long for a wrong one as for a right one."""
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        roles = [known.role for known in self._tokens if hmac.compare_digest(known.digest, digest)]
        return max(roles, default=None)


def mint_login_url(state_dir: Path, api_url: str) -> str:
    """A link that opens a session once; for the user who owns the state directory."""
    fields = (str(int(time.time()) + LOGIN_SECONDS), secrets.token_urlsafe(18))
    return f"{api_url.rstrip('/')}/login?token={signed(secret_of(state_dir), 'login', fields)}"


def parse_tokens(texts: Iterable[str]) -> tuple[BearerToken, ...]:
    """Tokens written as `role:token`. Raises SettingsProblem, never repeating the token."""
    found = []
    for number, text in enumerate(texts, start=1):
        role, colon, token = text.partition(":")
        if not colon or role.upper() not in Role.__members__:
            roles = ", ".join(name.lower() for name in Role.__members__)
            raise SettingsProblem(
                f"FLEETPROF_API_TOKENS: entry {number} is not role:token; roles are {roles}."
            )
        if len(token) < SHORTEST_TOKEN:
            raise SettingsProblem(
                f"FLEETPROF_API_TOKENS: the token of entry {number} has less than {SHORTEST_TOKEN} characters; "
                "make one with `openssl rand -base64 24`."
            )
        found.append(BearerToken(Role[role.upper()], sha256(token.encode()).digest()))
    return tuple(found)
