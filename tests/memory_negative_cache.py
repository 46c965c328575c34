"""A negative cache without a database."""

from time import monotonic


class MemoryNegativeCache:
    """`symbolizer.sources.negative_cache.NegativeCache` of one process."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, str, str], tuple[str, float]] = {}

    def known(self, key: str, kind: str, place: str) -> str | None:
        reason, until = self._notes.get((key, kind, place), ("", 0.0))
        return reason if until > monotonic() else None

    def note(self, key: str, kind: str, place: str, *, reason: str, seconds: float) -> None:
        self._notes[key, kind, place] = reason, monotonic() + seconds
