"""A worker's ear: what it remembers of a binary goes when the binary has other symbols."""

from collections.abc import Callable, Mapping
from datetime import datetime

from sqlalchemy import Engine

from storage.symbols.recent_changes import changed_since


class SymbolInvalidation:
    """Asks the store which symbols changed. Every change is told once."""

    def __init__(self, engine: Engine, forget: Callable[[str], None]) -> None:
        """`forget` is called with the key of each binary that changed."""
        self._engine = engine
        self._forget = forget
        self._seen: Mapping[str, datetime] = {}
        self._until: datetime | None = None

    def poll(self) -> set[str]:
        """The binaries that changed since the last time, which are forgotten now. Raises `DatabaseError`."""
        with self._engine.connect() as connection:
            news = changed_since(connection, self._until)
        # Moments just before the last time are asked about again: a change is seen later than it is dated.
        changed = {key for key, at in news.changed.items() if self._seen.get(key) != at}
        self._seen, self._until = news.changed, news.until
        for key in changed:
            self._forget(key)
        return changed
