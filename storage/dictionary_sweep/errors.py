"""What ends a sweep early; both leave everything as it should be.

StorageError
└── DatabaseError
    └── SweepOvertaken      nobody: another sweep began after this one, and does its work
"""

from storage.errors import DatabaseError


class SweepOvertaken(DatabaseError):
    """Another sweep has begun; what this one marked says nothing about the new epoch."""
