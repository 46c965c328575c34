"""Who may ask: one-time links, the sessions they open, and Bearer tokens.

Everything is signed with one secret that lies in the state directory, readable by its user only. So a
command run by the same user can make a link without asking the API, sessions outlive a restart, and
removing the file ends them all.

    link     /login?token=<expiry>.<nonce>.<signature>                   works once, then opens a session
    session  cookie fleetprof_session=<role>.<expiry>.<nonce>.<signature>
    token    Authorization: Bearer <token>                               from the settings
"""

import base64
import hmac
import os
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from pathlib import Path

from services.errors import SettingsProblem

SESSION_COOKIE = "fleetprof_session"
LOGIN_SECONDS = 12 * 3600
"""A link that nobody opened stops working then."""
SESSION_SECONDS = 30 * 86_400
SHORTEST_TOKEN = 16
"""Characters of a Bearer token: fewer can be guessed."""
_SECRET_BYTES = 32


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
        self._secret = _secret(state_dir)
        self._spent = state_dir / "spent-logins"
        self._tokens = tuple(tokens)

    def open_session(self, token: str) -> str:
        """The cookie's value for a link's token, which is spent by this. Raises LoginRefused."""
        fields = _verified(self._secret, "login", token, 2)
        if fields is None:
            raise LoginRefused("This link is not one of this fleetprof.")
        expiry, nonce = fields
        if int(expiry) < time.time():
            raise LoginRefused("This link is too old.")
        if not self._spend(nonce):
            raise LoginRefused("This link has been used already; each works once.")
        until = int(time.time()) + SESSION_SECONDS
        return _signed(
            self._secret, "session", (Role.ADMIN.name.lower(), str(until), secrets.token_urlsafe(12))
        )

    def own_session(self) -> str:
        """The cookie's value for what this process asks itself: a viewer's, so it may see what anybody signed in may."""
        until = int(time.time()) + SESSION_SECONDS
        return _signed(
            self._secret, "session", (Role.VIEWER.name.lower(), str(until), secrets.token_urlsafe(12))
        )

    def role_of_session(self, cookie: str) -> Role | None:
        """The role of a session; None: it is not ours, or it is over."""
        fields = _verified(self._secret, "session", cookie, 3)
        if fields is None or int(fields[1]) < time.time():
            return None
        return Role[fields[0].upper()]

    def role_of_token(self, token: str) -> Role | None:
        """The role of a Bearer token; takes as long for a wrong one as for a right one."""
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        roles = [known.role for known in self._tokens if hmac.compare_digest(known.digest, digest)]
        return max(roles, default=None)

    def _spend(self, nonce: str) -> bool:
        """True for the first caller only, whichever process it asks."""
        self._spent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.close(os.open(self._spent / nonce, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        for entry in os.scandir(self._spent):
            if entry.stat().st_mtime < time.time() - 2 * LOGIN_SECONDS:
                Path(entry.path).unlink(missing_ok=True)
        return True


def mint_login_url(state_dir: Path, api_url: str) -> str:
    """A link that opens a session once; for the user who owns the state directory."""
    fields = (str(int(time.time()) + LOGIN_SECONDS), secrets.token_urlsafe(18))
    return f"{api_url.rstrip('/')}/login?token={_signed(_secret(state_dir), 'login', fields)}"


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


def _secret(state_dir: Path) -> bytes:
    """The state directory's secret, made by whoever comes first."""
    path = state_dir / "api-secret"
    state_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
    if not path.exists():
        fresh = state_dir / f".api-secret-{secrets.token_hex(8)}"
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_SECRET_BYTES))
        try:
            path.hardlink_to(fresh)
        except FileExistsError:
            pass  # another process was faster: its secret is the one
        finally:
            fresh.unlink()
    secret = path.read_bytes()
    if len(secret) < _SECRET_BYTES:
        raise SettingsProblem(f"{path} is damaged; remove it, then open a new link with `fleetprof url`.")
    return secret


def _signed(secret: bytes, purpose: str, fields: tuple[str, ...]) -> str:
    text = ".".join(fields)
    return f"{text}.{_signature(secret, purpose, text)}"


def _verified(secret: bytes, purpose: str, text: str, count: int) -> list[str] | None:
    """The fields of a text signed for that purpose; None when it was not."""
    body, _, signature = text.rpartition(".")
    expected = _signature(secret, purpose, body)
    if not hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogatepass")):
        return None
    fields = body.split(".")
    return fields if len(fields) == count else None


def _signature(secret: bytes, purpose: str, text: str) -> str:
    message = f"fleetprof {purpose}\0{text}".encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hmac.new(secret, message, sha256).digest()).rstrip(b"=").decode()
