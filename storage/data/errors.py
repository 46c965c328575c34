"""Errors of data streams, and who must act.

StorageError
└── Stopped     no action: the client disconnected, or the server shuts down
"""

from storage.errors import StorageError


class Stopped(StorageError):
    """The rest of a stream is not wanted any more."""
