"""Sessions of browsers: a cookie, and a second half that only the page's own origin can read.

Cookies know no ports: whatever listens on another port of the same host, another user's server on a shared machine,
is sent this one's cookie. So the cookie proves nothing without the header `X-Fleetprof-Session`, whose value the login
puts into the fragment of the address it leads to. A fragment is sent to no server, and localStorage, where the page
keeps it, is of one port.

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
"""A session that is not used for so long ends."""
LONGEST_SECONDS = 7 * 86_400
"""And each ends then."""
_RENEWED_AFTER = 600
"""Seconds from one cookie to the next: not each answer of a page that asks every few seconds carries one."""


@dataclass(frozen=True, slots=True)
class Halves:
    """What a browser is given."""

    cookie: str
    binding: str


@dataclass(frozen=True, slots=True)
class Session:
    """One that was opened and has not ended; moments are seconds since 1970."""

    role: str
    end: int
    """However it is used."""
    expiry: int
    """Unless it is renewed."""
    nonce: str


class Sessions:
    """Opens sessions and ends them. Safe to share between threads and, through the state directory, processes."""

    def __init__(self, state_dir: Path, secret: bytes) -> None:
        self._secret = secret
        self._ended = Marks(state_dir / "ended-sessions", LONGEST_SECONDS)

    def open(self, role: str, longest_s: int = LONGEST_SECONDS) -> Halves:
        """A new one, which ends after `longest_s` seconds however it is used."""
        now, nonce = int(time.time()), secrets.token_urlsafe(18)
        cookie = self._cookie(Session(role, now + longest_s, now + min(longest_s, SESSION_SECONDS), nonce))
        return Halves(cookie, signature(self._secret, "binding", nonce))

    def find(self, cookie: str, binding: str) -> Session | None:
        """The session of these two halves; None: they are not of one, or it has ended."""
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
        """The cookie that prolongs it; None: that it has will do for now, or it cannot last longer."""
        until = min(int(time.time()) + SESSION_SECONDS, session.end)
        if until < session.expiry + _RENEWED_AFTER:
            return None
        return self._cookie(replace(session, expiry=until))

    def end(self, session: Session) -> None:
        """For good, in every process of the state directory, whatever cookies it was given."""
        self._ended.make(session.nonce)

    def _cookie(self, session: Session) -> str:
        fields = (session.role, str(session.end), str(session.expiry), session.nonce)
        return signed(self._secret, "session", fields)


def cookie_name(*, secure: bool) -> str:
    """Over TLS browsers keep others from setting or widening it (RFC 6265bis, 4.1.3)."""
    return f"__Host-{SESSION_COOKIE}" if secure else SESSION_COOKIE


def cookie_header(value: str, *, secure: bool) -> str:
    """Value of the Set-Cookie header that has the browser keep this cookie; empty: that has it forget its own."""
    age = SESSION_SECONDS if value else 0
    flags = "; Secure" if secure else ""
    name = cookie_name(secure=secure)
    return f"{name}={value}; HttpOnly; Max-Age={age}; Path=/; SameSite=Strict{flags}"
