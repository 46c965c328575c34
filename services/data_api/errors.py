"""What can go wrong with a stream of data, and who must act.

StorageError
└── BadSelection
    └── BadCursor       user: not a cursor of this query; begin anew, or ask the query it is of
ServiceError
└── TooManyStreams      user: come again when another stream has ended
"""

from services.errors import ServiceError
from storage.errors import BadSelection


class BadCursor(BadSelection):
    """A cursor that is damaged, of another version, or of another query."""


class TooManyStreams(ServiceError):
    """As many streams are open as there may be, of all callers or of this one."""

    def __init__(self, message: str, *, hint: str = "Come again when another has ended.") -> None:
        """`hint`: what the caller can do, a sentence."""
        super().__init__(message)
        self.hint = hint
