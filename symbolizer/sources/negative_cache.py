"""What is known not to be somewhere, for the sources that cost something to ask."""

from typing import Protocol

from sqlalchemy import Engine

from storage.symbols.absences import known_absence, note_absence


class NegativeCache(Protocol):
    """A negative cache; `place` is who was asked, `kind` what for."""

    def known(self, key: str, kind: str, place: str) -> str | None:
        """Why it is not there, as a sentence; None: not known, or long ago."""

    def note(self, key: str, kind: str, place: str, *, reason: str, seconds: float) -> None:
        """It is not there; not to be asked for again for `seconds`."""


class StoredNegativeCache:
    """The fleet's: what one worker was told, all know."""

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
