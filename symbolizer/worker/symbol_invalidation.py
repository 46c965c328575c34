"""Invalidates a worker's cached state of binaries whose symbols changed."""

from collections.abc import Callable, Mapping
from datetime import datetime

from sqlalchemy import Engine

from storage.symbols.recent_changes import changed_since


class SymbolInvalidation:
    """Polls the store for changed symbols. Every change is reported once."""

    def __init__(self, engine: Engine, forget: Callable[[str], None]) -> None:
        """`forget` is called with the key of each binary that changed."""
        self._engine = engine
        self._forget = forget
        self._seen: Mapping[str, datetime] = {}
        self._until: datetime | None = None

    def poll(self) -> set[str]:
        """Forget the binaries that changed since the last call, and return them. Raises `DatabaseError`."""
        with self._engine.connect() as connection:
            news = changed_since(connection, self._until)
        # The query overlaps the previous one: a change becomes visible later than its timestamp.
        changed = {key for key, at in news.changed.items() if self._seen.get(key) != at}
        self._seen, self._until = news.changed, news.until
        for key in changed:
            self._forget(key)
        return changed
