"""Records missing files, for sources with expensive lookups."""

from typing import Protocol

from sqlalchemy import Engine

from storage.symbols.absences import known_absence, note_absence


class NegativeCache(Protocol):
    """A negative cache; `place` is the source, `kind` the type of file."""

    def known(self, key: str, kind: str, place: str) -> str | None:
        """Why it is missing, as a sentence; None: not recorded, or expired."""

    def note(self, key: str, kind: str, place: str, *, reason: str, seconds: float) -> None:
        """Record that it is missing; the place gets no request for `seconds`."""


class StoredNegativeCache:
    """The fleet's negative cache: all workers share the entries."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def known(self, key: str, kind: str, place: str) -> str | None:
        """As in `NegativeCache`. Raises `DatabaseError`."""
        with self._engine.connect() as connection:
            absence = known_absence(connection, key, kind, place)
        return absence.reason if absence else None

    def note(self, key: str, kind: str, place: str, *, reason: str, seconds: float) -> None:
        """As in `NegativeCache`. Raises `DatabaseError`."""
        with self._engine.begin() as connection:
            note_absence(connection, key, kind, place, reason=reason, seconds=seconds)
