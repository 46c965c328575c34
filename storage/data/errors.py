"""What can go wrong while data is streamed, and who must act.

StorageError
└── Stopped     nobody: the caller went away, or the server ends
"""

from storage.errors import StorageError


class Stopped(StorageError):
    """Nobody wants the rest any more."""
