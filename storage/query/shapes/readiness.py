"""Whether the store is ready for queries."""

from dataclasses import dataclass

from storage.migrate import require_current
from storage.query.store_reading import StoreReading


@dataclass(frozen=True, slots=True)
class ReadinessQuestion:
    """Whether the database responds and has the schema of this program."""

    def answer(self, reading: StoreReading) -> None:
        """Raises `NotMigrated`, `DatabaseError`."""
        require_current(reading.connection)
