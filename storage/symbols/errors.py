"""What the store of symbols refuses."""

from storage.errors import ArchiveError, StorageError, Unknown


class SymbolsError(StorageError):
    """The store of symbols cannot do what was asked."""


class BadKey(SymbolsError):
    """A binary's key, a path or a source's name that cannot be stored."""


class SymbolFileTooLarge(SymbolsError):
    """A file is larger than is accepted."""


class SymbolFileChanged(SymbolsError):
    """A file was written to while it was stored."""


class UnknownDebugFile(Unknown):
    """No debug file has this binary key and SHA-256."""


class BlobDamaged(ArchiveError):
    """A blob does not hold the bytes it is named by."""
