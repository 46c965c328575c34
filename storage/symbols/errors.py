"""Errors of symbol storage."""

from storage.errors import ArchiveError, StorageError, Unknown


class SymbolsError(StorageError):
    """The symbol store cannot perform an operation."""


class BadKey(SymbolsError):
    """A binary key, path or source name cannot be stored."""


class SymbolFileTooLarge(SymbolsError):
    """A file exceeds the size limit."""


class SymbolFileChanged(SymbolsError):
    """A file was modified while it was stored."""


class UnknownDebugFile(Unknown):
    """No debug file has this binary key and SHA-256."""


class BlobDamaged(ArchiveError):
    """A blob's content does not match its name."""
