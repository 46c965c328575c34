"""Results of requesting a binary's built symbols."""

from dataclasses import dataclass

from symbolizer.builds.built_symbols import BuiltSymbols


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A recorded file of built symbols."""

    sha256: bytes
    """SHA-256 of its content."""
    source_sha256: bytes
    """SHA-256 of the debug file it was built from."""
    producer: str
    """The program, version and format it was built with."""
    outdated: bool = False
    """A better file or a newer producer exists; this file is used until it is rebuilt."""


@dataclass(frozen=True, slots=True)
class Built:
    """Built symbols, opened."""

    symbols: BuiltSymbols
    entry: CacheEntry


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """There are no built symbols; why, as a sentence."""

    reason: str
    until: float = 0.0
    """The file is not tried again before this time; seconds since 1970."""
    pending: bool = False
    """The symbols are being built, or are going to be: frames will be better soon."""
    rejected: bool = False
    """The file was withdrawn; the next candidate is to be tried now."""
