"""Whether the store can be asked at all."""

from dataclasses import dataclass

from storage.migrate import require_current
from storage.query.store_reading import StoreReading


@dataclass(frozen=True, slots=True)
class ReadinessQuestion:
    """Whether the database answers and its schema is this program's."""

    def answer(self, reading: StoreReading) -> None:
        """Raises `NotMigrated`, `DatabaseError`."""
        require_current(reading.connection)
