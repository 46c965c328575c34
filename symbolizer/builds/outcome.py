"""What asking for a binary's built symbols comes to."""

from dataclasses import dataclass

from symbolizer.builds.built_symbols import BuiltSymbols


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A file of built symbols that is known of."""

    sha256: bytes
    """Of its content."""
    source_sha256: bytes
    """Of the debug file it was built from."""
    producer: str
    """The program, version and format it was made by and is of."""
    outdated: bool = False
    """A better file or a newer producer is there: it serves until it is built anew."""


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
    rejected: bool = False
    """The file gave way to another, which is to be tried now."""
