"""Errors that end a sweep early; the data stays consistent.

StorageError
└── DatabaseError
    └── SweepOvertaken      no action: a later sweep began and does the work
"""

from storage.errors import DatabaseError


class SweepOvertaken(DatabaseError):
    """A later sweep has begun; the marks of this one are invalid in the new epoch."""
