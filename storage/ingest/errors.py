"""Errors between an archived capture and its rows; others are in `storage.errors`.

StorageError
├── BadCapture              the bytes are not a valid capture, or a contradictory one: it is quarantined
│   └── FormatTooNew        operator: upgrade this program, then the capture is ingested
├── Unknown
│   └── UnknownCapture      developer: the capture row is written before its task is sent
└── DatabaseError
    └── DictionarySwept     handled: the ingestion restarts with fresh lookups
"""

from storage.errors import BadCapture, DatabaseError, Unknown


class FormatTooNew(BadCapture):
    """A newer gateway wrote the capture in a format that this program cannot read."""

    def __init__(self, found: int, newest: int) -> None:
        super().__init__(
            f"The capture has format {found}; {newest} is the newest format that this program reads."
        )
        self.found = found
        self.newest = newest


class UnknownCapture(Unknown):
    """The visit has no capture row."""


class DictionarySwept(DatabaseError):
    """A sweep of the dictionaries began after the ids were looked up; their rows may be deleted."""
