"""What can be wrong with the file of stacks and names, and who must act.

StorageError
├── UnusableFile      nobody: the file is damaged, or another version's; it is built again
└── FileNotBuilt      operator: the folder cannot be written to, or the dictionaries are damaged; the text says which
"""

from storage.errors import StorageError


class UnusableFile(StorageError):
    """A file cannot be mapped; the text names it and says why."""


class FileNotBuilt(StorageError):
    """The file was not built; queries answer without it."""
