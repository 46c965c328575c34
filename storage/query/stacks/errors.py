"""Errors of the file of stacks and names, and who must act on them.

StorageError
├── UnusableFile      no action: the file is damaged, or another version's; it is built again
└── FileNotBuilt      the operator: the folder is not writable, or the dictionaries are damaged; the text has the cause
"""

from storage.errors import StorageError


class UnusableFile(StorageError):
    """A file cannot be mapped; the text has its name and the cause."""


class FileNotBuilt(StorageError):
    """The file was not built; queries work without it."""
