"""Login links: each works once and opens a session with the role that its maker gave it.

One secret signs links and sessions, so a command of the user who owns the secret can make a link without calling the
API.

    /login?token=<expiry>.<role>.<source>.<nonce>.<signature>
"""

import secrets
import time
from dataclasses import dataclass
from typing import Final

from services.api.signing import signed, verified
from services.api.tokens import Role

LOGIN_SECONDS: Final = 12 * 3600
"""An unused link expires after this time."""


class LoginRefused(Exception):
    """A link or a token opens no session. The text is the reason, a sentence."""


@dataclass(frozen=True, slots=True)
class LoginLink:
    """A link whose signature is right."""

    expires_at: int
    """Seconds since 1970."""
    role: Role
    source: str
    """Identifies the API token that made it; empty: the user who owns the secret."""
    nonce: str


def new_link(secret: bytes, role: Role, source: str = "") -> tuple[str, int]:
    """Path and query of a new link, and when it expires, in seconds since 1970."""
    expires_at = int(time.time()) + LOGIN_SECONDS
    fields = (str(expires_at), role.word, source, secrets.token_urlsafe(18))
    return f"/login?token={signed(secret, 'login', fields)}", expires_at


def mint_login_url(secret: bytes, api_url: str, role: Role = Role.ADMIN) -> str:
    """A link to this API that opens one session."""
    path, _ = new_link(secret, role)
    return api_url.rstrip("/") + path


def read_link(secret: bytes, token: str) -> LoginLink:
    """The link of this token. Raises LoginRefused for a wrong signature and for an expired link."""
    fields = verified(secret, "login", token, 4)
    if fields is None:
        raise LoginRefused("This login link is not valid for this fleetprof.")
    expires_at, role, source, nonce = fields
    link = LoginLink(int(expires_at), Role[role.upper()], source, nonce)
    if link.expires_at < time.time():
        raise LoginRefused("This login link has expired.")
    return link
