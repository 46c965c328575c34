"""Errors of cells; others are in `storage.errors`.

StorageError
├── CorruptCell     handled: the writer rebuilds the day from its chunks
│   └── TookTooMuch handled likewise: more was subtracted from a cell than it held
├── DayGone         operator: retention has dropped the facts, so the cells cannot be rebuilt
└── Unknown
    └── UnknownApplication  user: name an application that was sampled
"""

from collections.abc import Iterable

from storage.errors import CorruptCell, StorageError, Unknown


class TookTooMuch(CorruptCell):
    """A cell would become negative; `days` (since 1970) are to be rebuilt."""

    def __init__(self, days: Iterable[int]) -> None:
        self.days = tuple(sorted(set(days)))
        super().__init__(f"More was removed than the cells of {len(self.days)} days contain.")


class DayGone(StorageError):
    """The day's facts have no partition."""


class UnknownApplication(Unknown):
    """No sample of this application exists."""
