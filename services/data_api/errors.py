"""Errors of a data stream, and who must act.

StorageError
└── BadSelection
    └── BadCursor       user: not a cursor of this query; begin anew, or send the query that it belongs to
ServiceError
└── TooManyStreams      user: retry when another stream has ended
"""

from services.errors import ServiceError
from storage.errors import BadSelection


class BadCursor(BadSelection):
    """A cursor that is damaged, of another version, or of another query."""


class TooManyStreams(ServiceError):
    """The limit of open streams is reached, for all callers or for this one."""

    def __init__(self, message: str, *, hint: str = "Retry when another stream has ended.") -> None:
        """`hint`: what the caller can do, a sentence."""
        super().__init__(message)
        self.hint = hint
