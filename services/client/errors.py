"""What can go wrong for a program that reads the data API, and who must act.

ServiceError
└── ClientError
    ├── Refused         user: the server said no; `hint` says what to change
    ├── Broken          user: the server cannot be reached, or breaks off again and again
    ├── Closed          programmer: the client was closed before
    └── NeedsPackage    user: install what the text names
"""

from services.errors import ServiceError


class ClientError(ServiceError):
    """Something about the data API could not be done."""


class Refused(ClientError):
    """The server said no, and would again."""

    def __init__(self, message: str, *, kind: str = "", hint: str = "", at: int | None = None) -> None:
        """`kind` for programs; `at` is the character where a selection is wrong."""
        super().__init__(f"{message} {hint}".rstrip())
        self.kind = kind
        self.hint = hint
        self.at = at


class Broken(ClientError):
    """The connection or the stream broke; the same may succeed later."""

    def __init__(self, message: str, *, hint: str = "", after_s: float = 0.0) -> None:
        """`after_s`: the server wants to be left alone for so many seconds."""
        super().__init__(f"{message} {hint}".rstrip())
        self.hint = hint
        self.after_s = after_s


class Closed(ClientError):
    """The client was closed; another can be connected."""


class NeedsPackage(ClientError):
    """A package that is not installed is needed for this."""
