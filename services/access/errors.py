"""Errors of tokens, views and prices.

ServiceError
└── UnusableEntry     user: the name, the address or the price cannot be stored
"""

from services.errors import ServiceError


class UnusableEntry(ServiceError):
    """A value that cannot be stored."""

    def __init__(self, text: str, *, parameter: str, hint: str = "") -> None:
        """`parameter` is the member of the request at fault; `hint` is the fix, a sentence."""
        super().__init__(text)
        self.parameter = parameter
        self.hint = hint
