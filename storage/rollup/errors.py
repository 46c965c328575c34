"""What can go wrong with cells; the rest of it is `storage.errors`.

StorageError
├── CorruptCell     nobody: the roller rebuilds the day from its chunks
│   └── TookTooMuch nobody, likewise: more was to be taken out of a cell than it held
├── DayGone         operator: its facts were dropped by retention, so its cells cannot be made again
└── Unknown
    └── UnknownApplication  user: name one that was sampled
"""

from collections.abc import Iterable

from storage.errors import CorruptCell, StorageError, Unknown


class TookTooMuch(CorruptCell):
    """A cell would hold less than nothing; `days` (since 1970) are those to be rebuilt."""

    def __init__(self, days: Iterable[int]) -> None:
        self.days = tuple(sorted(set(days)))
        super().__init__(f"More was taken out than there was in the cells of {len(self.days)} days.")


class DayGone(StorageError):
    """There is no partition with the day's facts."""


class UnknownApplication(Unknown):
    """No sample was ever of this application."""
