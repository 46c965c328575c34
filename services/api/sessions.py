"""Browser sessions: a cookie, and a second half that only the page's own origin can read.

Cookies ignore ports: a browser also sends this server's cookie to any other server on the same host, such as another
user's on a shared machine. So the cookie proves nothing without the header `X-Fleetprof-Session`. The login puts the
header's value into the fragment of the URL that it redirects to. Browsers send fragments to no server, and the page
stores the value in localStorage, which is separate for each port.

    cookie   <role>.<end>.<expiry>.<nonce>.<signature>          HttpOnly; over TLS Secure and named __Host-
    binding  a signature of the nonce
"""

import secrets
import time
from dataclasses import dataclass, replace
from pathlib import Path

from services.api.signing import Marks, same, signature, signed, verified

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
    nonce: str


class Sessions:
    """Opens sessions and ends them. Safe to share between threads and, through the state directory, processes."""

    def __init__(self, state_dir: Path, secret: bytes) -> None:
        self._secret = secret
        self._ended = Marks(state_dir / "ended-sessions", LONGEST_SECONDS)

    def open(self, role: str, longest_s: int = LONGEST_SECONDS) -> Halves:
        """A new session, which ends after `longest_s` seconds however it is used."""
        now, nonce = int(time.time()), secrets.token_urlsafe(18)
        cookie = self._cookie(Session(role, now + longest_s, now + min(longest_s, SESSION_SECONDS), nonce))
        return Halves(cookie, signature(self._secret, "binding", nonce))

    def find(self, cookie: str, binding: str) -> Session | None:
        """The session of these two halves; None: they do not prove one, or it has ended."""
        fields = verified(self._secret, "session", cookie, 4)
        if fields is None:
            return None
        session = Session(fields[0], int(fields[1]), int(fields[2]), fields[3])
        if not same(signature(self._secret, "binding", session.nonce), binding):
            return None
        if session.expiry < time.time() or self._ended.has(session.nonce):
            return None
        return session

    def renewed(self, session: Session) -> str | None:
        """The cookie that renews the session; None: the present one is recent enough, or the session is at its end."""
        until = min(int(time.time()) + SESSION_SECONDS, session.end)
        if until < session.expiry + _RENEWED_AFTER:
            return None
        return self._cookie(replace(session, expiry=until))

    def end(self, session: Session) -> None:
        """End it for good, in every process of the state directory, for all its cookies."""
        self._ended.make(session.nonce)

    def _cookie(self, session: Session) -> str:
        fields = (session.role, str(session.end), str(session.expiry), session.nonce)
        return signed(self._secret, "session", fields)


def cookie_name(*, secure: bool) -> str:
    """Over TLS the prefix keeps other hosts from setting or widening the cookie (RFC 6265bis, 4.1.3)."""
    return f"__Host-{SESSION_COOKIE}" if secure else SESSION_COOKIE


def cookie_header(value: str, *, secure: bool) -> str:
    """Value of the Set-Cookie header that stores this cookie; with an empty value it deletes the browser's."""
    age = SESSION_SECONDS if value else 0
    flags = "; Secure" if secure else ""
    name = cookie_name(secure=secure)
    return f"{name}={value}; HttpOnly; Max-Age={age}; Path=/; SameSite=Strict{flags}"
