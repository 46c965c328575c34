"""Browser sessions: a cookie, and a second half that only the page's own origin can read.

Cookies ignore ports: a browser also sends this server's cookie to any other server on the same host, such as another
user's on a shared machine. So the cookie proves nothing without the header `X-Fleetprof-Session`. The login puts the
header's value into the fragment of the URL that it redirects to. Browsers send fragments to no server, and the page
stores the value in localStorage, which is separate for each port.

    cookie   <role>.<end>.<expiry>.<source>.<nonce>.<signature>          HttpOnly; over TLS Secure and named __Host-
    binding  a signature of the nonce
"""

import secrets
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from services.api.access_records import RecordCopy
from services.api.signing import same, signature, signed, verified

SESSION_COOKIE = "fleetprof_session"
SESSION_HEADER = "X-Fleetprof-Session"
SESSION_SECONDS = 12 * 3600
"""An unused session ends after this time."""
LONGEST_SECONDS = 7 * 86_400
"""Every session ends after this time."""
_RENEWED_AFTER = 600
"""Seconds between two cookies of a session: a page polls every few seconds, and not each answer needs one."""


@dataclass(frozen=True, slots=True)
class Halves:
    """The two halves of a session that a browser gets."""

    cookie: str
    binding: str


@dataclass(frozen=True, slots=True)
class Session:
    """A session that has not ended; times are seconds since 1970."""

    role: str
    end: int
    """When it ends, however it is used."""
    expiry: int
    """When it ends unless it is renewed."""
    source: str
    """Identifies the API token that opened it; empty: a link of the user who owns the secret."""
    nonce: str


class Sessions:
    """Opens sessions and ends them. Safe to share between threads."""

    def __init__(self, secret: bytes, records: RecordCopy) -> None:
        self._secret = secret
        self._records = records

    def open(self, role: str, source: str = "", *, longest_s: int = LONGEST_SECONDS) -> Halves:
        """A new session, which ends after `longest_s` seconds however it is used."""
        return new_session(self._secret, role, source, longest_s=longest_s)

    def find(self, cookie: str, binding: str) -> Session | None:
        """The session of these two halves; None: they do not prove one, or it has ended."""
        fields = verified(self._secret, "session", cookie, 5)
        if fields is None:
            return None
        role, end, expiry, source, nonce = fields
        session = Session(role, int(end), int(expiry), source, nonce)
        if not same(signature(self._secret, "binding", session.nonce), binding):
            return None
        if session.expiry < time.time() or self._records.has_ended(session.nonce):
            return None
        return session

    def renewed(self, session: Session) -> str | None:
        """The cookie that renews the session; None: the present one is recent enough, or the session is at its end."""
        until = min(int(time.time()) + SESSION_SECONDS, session.end)
        if until < session.expiry + _RENEWED_AFTER:
            return None
        return _cookie(self._secret, replace(session, expiry=until))

    def end(self, session: Session) -> None:
        """End it for good, with all its cookies: here at once, elsewhere within seconds. Raises StorageError."""
        self._records.end_session(session.nonce, datetime.fromtimestamp(session.end, UTC))


def new_session(secret: bytes, role: str, source: str = "", *, longest_s: int = LONGEST_SECONDS) -> Halves:
    """A new session, which ends after `longest_s` seconds however it is used."""
    now, nonce = int(time.time()), secrets.token_urlsafe(18)
    session = Session(role, now + longest_s, now + min(longest_s, SESSION_SECONDS), source, nonce)
    return Halves(_cookie(secret, session), signature(secret, "binding", nonce))


def _cookie(secret: bytes, session: Session) -> str:
    fields = (session.role, str(session.end), str(session.expiry), session.source, session.nonce)
    return signed(secret, "session", fields)


def cookie_name(*, secure: bool) -> str:
    """Over TLS the prefix keeps other hosts from setting or widening the cookie (RFC 6265bis, 4.1.3)."""
    return f"__Host-{SESSION_COOKIE}" if secure else SESSION_COOKIE


def cookie_header(value: str, *, secure: bool) -> str:
    """Value of the Set-Cookie header that stores this cookie; with an empty value it deletes the browser's."""
    age = SESSION_SECONDS if value else 0
    flags = "; Secure" if secure else ""
    name = cookie_name(secure=secure)
    return f"{name}={value}; HttpOnly; Max-Age={age}; Path=/; SameSite=Strict{flags}"
