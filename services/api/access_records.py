"""Records of sign-in that all API processes share, and this process's copy of them.

A request is checked against the copy, so it costs no query. The copy is read from the database every two seconds: a
session that ended and a token that was revoked in another process are refused here after that time. Changes of this
process take effect at once, because they read the copy again before they return.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import Final, Protocol

import structlog
from anyio import sleep, to_thread
from sqlalchemy import Engine

from storage.access import api_tokens, sign_in
from storage.access.api_tokens import ApiToken
from storage.errors import StorageError

REFRESH_S: Final = 2.0
"""Seconds between two readings."""
_AGAIN_S: Final = 0.25
"""Seconds until the next attempt after a failed reading."""
OLDEST_S: Final = 10.0
"""An older copy proves nothing: sessions and recorded tokens are refused until it is read again."""

_log = structlog.get_logger("fleetprof.api")


@dataclass(frozen=True, slots=True)
class Records:
    """The records at one moment."""

    ended: frozenset[str] = frozenset()
    """Nonces of ended sessions."""
    tokens: tuple[ApiToken, ...] = ()


class AccessRecords(Protocol):
    """The records of one installation. Every method may raise a `StorageError`."""

    def spend_link(self, nonce: str, expires_at: datetime) -> bool:
        """Record that a link was used; True for the first caller only."""

    def end_session(self, nonce: str, expires_at: datetime) -> None:
        """Record that a session was ended."""

    def read(self, used_tokens: Collection[int]) -> Records:
        """All records; notes that these tokens were used today."""


class DatabaseRecords:
    """The `AccessRecords` in a database. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        """The caller keeps ownership of the engine."""
        self._engine = engine

    def spend_link(self, nonce: str, expires_at: datetime) -> bool:
        """See `AccessRecords`."""
        with self._engine.begin() as connection:
            return sign_in.spend_link(connection, nonce, expires_at)

    def end_session(self, nonce: str, expires_at: datetime) -> None:
        """See `AccessRecords`."""
        with self._engine.begin() as connection:
            sign_in.end_session(connection, nonce, expires_at)

    def read(self, used_tokens: Collection[int]) -> Records:
        """See `AccessRecords`."""
        with self._engine.begin() as connection:
            if used_tokens:
                api_tokens.note_use(connection, used_tokens)
            return Records(sign_in.ended_sessions(connection), api_tokens.listing(connection))


class RecordCopy:
    """This process's copy of the records. Safe to share between threads."""

    def __init__(self, records: AccessRecords, clock: Callable[[], float] = monotonic) -> None:
        """The copy is empty, and not current, until it is refreshed."""
        self._records = records
        self._clock = clock
        self._reading = Lock()
        self._copy = Records()
        self._read_at: float | None = None
        self._used: set[int] = set()

    @property
    def is_current(self) -> bool:
        """Whether the copy was read recently enough to decide by it."""
        return self._read_at is not None and self._clock() - self._read_at <= OLDEST_S

    @property
    def tokens(self) -> tuple[ApiToken, ...]:
        """The recorded tokens."""
        return self._copy.tokens

    def has_ended(self, nonce: str) -> bool:
        """Whether this session was ended."""
        return nonce in self._copy.ended

    def note_use(self, token_id: int) -> None:
        """Have the next reading record that the token was used today."""
        self._used.add(token_id)

    def spend_link(self, nonce: str, expires_at: datetime) -> bool:
        """Record that a link was used; True for the first caller only. Raises StorageError."""
        return self._records.spend_link(nonce, expires_at)

    def end_session(self, nonce: str, expires_at: datetime) -> None:
        """End a session, here at once. Raises StorageError."""
        self._records.end_session(nonce, expires_at)
        self.refresh()

    def refresh(self) -> None:
        """Read the records. Raises StorageError."""
        # A reading that began before a change must not replace one that began after it.
        with self._reading:
            began, used = self._clock(), frozenset(self._used)
            self._copy = self._records.read(used)
            self._read_at = began
            self._used -= used

    async def refresh_periodically(self) -> None:
        """Refresh until cancelled. A failure is logged once and retried."""
        failing = False
        while True:
            try:
                await to_thread.run_sync(self.refresh)
            except StorageError as error:
                if not failing:
                    _log.warning("records of sign-in cannot be read", error=str(error))
                failing = True
            else:
                failing = False
            await sleep(_AGAIN_S if failing else REFRESH_S)
