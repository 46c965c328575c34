"""What can go wrong with symbols that a person brings, and who must act.

ServiceError
└── SymbolsProblem
    ├── UnusableFile    user: the file is not what it should be; the text says why
    ├── NoSuchSymbols   user: nothing is known by this key, or under this path
    ├── NotYet          user: come again later; the text says why
    └── ApiRefused      user: the API at FLEETPROF_URL said no; the text is its sentence
"""

from services.errors import ServiceError


class SymbolsProblem(ServiceError):
    """Something about symbols could not be done."""


class UnusableFile(SymbolsProblem):
    """A file that names nothing, or is none that can be read."""


class NoSuchSymbols(SymbolsProblem):
    """Nothing is known by a key, or under a path."""


class NotYet(SymbolsProblem):
    """Something is limited, and the limit is reached."""

    def __init__(self, message: str, retry_s: float) -> None:
        """There is more in `retry_s` seconds."""
        super().__init__(message)
        self.retry_s = retry_s


class ApiRefused(SymbolsProblem):
    """The API answered with a problem."""

    def __init__(self, message: str, status: int) -> None:
        """`status` is HTTP's."""
        super().__init__(message)
        self.status = status
