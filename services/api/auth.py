"""Authentication of callers: login links, the sessions that they open, and Bearer tokens.

One secret signs links and sessions: that of the state directory, which only its user can read, or that of
FLEETPROF_SESSION_SECRET_FILE, which all replicas of the API share. Sessions outlive a restart, and replacing the secret
ends them all.

    link     /login?token=…                     works once and opens a session (services.api.login_links)
    session  a cookie and its binding           (services.api.sessions)
    token    Authorization: Bearer <token>      of the settings or of the database (services.api.tokens)

A session that a token opened, or a link of that token, has at most the token's role, and ends when the token expires or
is removed.
"""

import hmac
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from services.api.access_records import RecordCopy
from services.api.login_links import LoginRefused, new_link, read_link
from services.api.sessions import LONGEST_SECONDS, Halves, Session, Sessions
from services.api.signing import signature
from services.api.tokens import BearerToken, Role, digest_of_token, of_record
from storage.access.api_tokens import ApiToken

_SOURCE_CHARACTERS = 22
"""Of the text that identifies a token in sessions: 132 bits of a signature. Guesses of the token cannot be
tested without the secret."""


@dataclass(frozen=True, slots=True)
class _Known:
    token: BearerToken
    source: str


class Access:
    """Determines callers' roles. Safe to share between threads."""

    def __init__(
        self,
        secret: bytes,
        records: RecordCopy,
        tokens: Iterable[BearerToken] = (),
        *,
        link_command: str | None = None,
    ) -> None:
        """`tokens` are those of the settings.

        `link_command` prints a login link on this machine; None: only a caller with a token can make one.
        """
        self._secret = secret
        self.records = records
        self.sessions = Sessions(secret, records)
        self.link_command = link_command
        self._of_settings = tuple(_Known(token, self._source_of(token)) for token in tokens)
        self._recorded: tuple[tuple[ApiToken, ...], tuple[_Known, ...]] = ((), ())

    def open_by_link(self, link_token: str) -> Halves:
        """Open a session and spend the link. Raises LoginRefused, StorageError."""
        link = read_link(self._secret, link_token)
        role, longest_s = link.role, LONGEST_SECONDS
        if link.source:
            maker = self._token_of_source(link.source)
            if maker is None:
                raise LoginRefused("The API token that made this login link is no longer valid.")
            role, longest_s = min(role, maker.role), _longest_of(maker)
        if not self.records.spend_link(link.nonce, datetime.fromtimestamp(link.expires_at, UTC)):
            raise LoginRefused("This login link was already used. Each link works once.")
        return self.sessions.open(role.word, link.source, longest_s=longest_s)

    def open_by_token(self, token: BearerToken) -> Halves:
        """Open a session with the token's role."""
        return self.sessions.open(token.role.word, self._source_of(token), longest_s=_longest_of(token))

    def link_by_token(self, token: BearerToken, role: Role) -> tuple[str, int]:
        """Path of a new login link, and when it expires. The caller checks that the token has this role."""
        return new_link(self._secret, role, self._source_of(token))

    def find_session(self, cookie: str, binding: str) -> Session | None:
        """The session of these two halves; None: they do not prove one, it has ended, or its token is not valid."""
        session = self.sessions.find(cookie, binding)
        if session is None or not session.source:
            return session
        opener = self._token_of_source(session.source)
        if opener is None:
            return None
        return replace(session, role=min(Role[session.role.upper()], opener.role).word)

    def find_token(self, token: str) -> BearerToken | None:
        """The valid Bearer token of the highest role with this text. Right and wrong ones take equally long."""
        digest = digest_of_token(token)
        found = [
            known.token
            for known in self._known()
            if hmac.compare_digest(known.token.digest, digest) and not known.token.has_expired
        ]
        best = max(found, key=lambda known: known.role, default=None)
        if best is not None and best.token_id is not None:
            self.records.note_use(best.token_id)
        return best

    def _token_of_source(self, source: str) -> BearerToken | None:
        for known in self._known():
            if known.source == source and not known.token.has_expired:
                return known.token
        return None

    def _known(self) -> Iterable[_Known]:
        rows = self.records.tokens
        read, known = self._recorded
        if read is not rows:  # the records were read again
            known = tuple(_Known(token, self._source_of(token)) for token in map(of_record, rows))
            self._recorded = rows, known
        return (*self._of_settings, *known)

    def _source_of(self, token: BearerToken) -> str:
        return signature(self._secret, "source", token.digest.hex())[:_SOURCE_CHARACTERS]


def _longest_of(token: BearerToken) -> int:
    """Longest session in seconds that this token may open."""
    if token.expires_at is None:
        return LONGEST_SECONDS
    return max(0, min(LONGEST_SECONDS, int(token.expires_at - time.time())))
