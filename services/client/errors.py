"""Errors for programs that read the data API, and who must act.

ServiceError
└── ClientError
    ├── Refused         user: the server refused the request; `hint` says what to change
    ├── Broken          user: the server cannot be reached, or repeatedly breaks connections
    ├── Closed          programmer: the client was closed before
    └── NeedsPackage    user: install the package that the text names
"""

from services.errors import ServiceError


class ClientError(ServiceError):
    """An operation on the data API failed."""


class Refused(ClientError):
    """The server refused the request, and a retry would fail as well."""

    def __init__(self, message: str, *, kind: str = "", hint: str = "", at: int | None = None) -> None:
        """`kind` is for programs; `at` is the position of the mistake in a selection, in characters."""
        super().__init__(f"{message} {hint}".rstrip())
        self.kind = kind
        self.hint = hint
        self.at = at


class Broken(ClientError):
    """The connection or the stream broke. A retry may succeed."""

    def __init__(self, message: str, *, hint: str = "", after_s: float = 0.0) -> None:
        """`after_s`: seconds that the server requests before a retry."""
        super().__init__(f"{message} {hint}".rstrip())
        self.hint = hint
        self.after_s = after_s


class Closed(ClientError):
    """The client was closed. A new one can be connected."""


class NeedsPackage(ClientError):
    """The call needs a package that is not installed."""
