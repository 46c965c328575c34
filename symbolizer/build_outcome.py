"""What asking for a binary's built symbols comes to."""

from dataclasses import dataclass

from symbolizer.built_symbols import BuiltSymbols


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A file of built symbols that is known of."""

    sha256: bytes
    """Of its content."""
    source_sha256: bytes
    """Of the debug file it was built from."""


@dataclass(frozen=True, slots=True)
class Built:
    """They are there, and opened."""

    symbols: BuiltSymbols
    entry: CacheEntry


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """There are none; why, as a sentence."""

    reason: str
    until: float = 0.0
    """Nobody tries that file again before; seconds since 1970."""
    pending: bool = False
    """Somebody builds them, or is to: frames are better soon."""
