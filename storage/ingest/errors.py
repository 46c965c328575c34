"""What can go wrong between an archived capture and its rows; the rest of it is `storage.errors`.

StorageError
├── BadCapture              the bytes are no capture, or one that contradicts itself: it is quarantined
│   └── FormatTooNew        operator: upgrade this side, then it ingests
├── Unknown
│   └── UnknownCapture      developer: the capture row is written before its task is sent
└── DatabaseError
    └── DictionarySwept     nobody: the ingestion begins again with what it looks up now
"""

from storage.errors import BadCapture, DatabaseError, Unknown


class FormatTooNew(BadCapture):
    """The capture was written by a newer gateway than this program can read."""

    def __init__(self, found: int, newest: int) -> None:
        super().__init__(f"The capture has format {found}; {newest} is the newest this program reads.")
        self.found = found
        self.newest = newest


class UnknownCapture(Unknown):
    """There is no capture row for the visit."""


class DictionarySwept(DatabaseError):
    """A sweep of the dictionaries began since ids were looked up: they may be gone."""
