"""Errors of symbol files and sources, and who must act.

ServiceError
└── SymbolsProblem
    ├── UnusableFile    user: the file is unusable; the text is the reason
    ├── NoSuchSymbols   user: this key or path is unknown
    └── NotYet          user: retry later; the text is the reason
"""

from services.errors import ServiceError


class SymbolsProblem(ServiceError):
    """An operation on symbols failed."""


class UnusableFile(SymbolsProblem):
    """A file that contains no names, or that cannot be read."""


class NoSuchSymbols(SymbolsProblem):
    """A key or path is unknown."""


class NotYet(SymbolsProblem):
    """A limit is reached."""

    def __init__(self, message: str, retry_s: float) -> None:
        """A retry may succeed after `retry_s` seconds."""
        super().__init__(message)
        self.retry_s = retry_s
