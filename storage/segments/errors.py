"""What can go wrong with the lake, and who must act.

LakeError
├── LakeUnavailable    operator: the lake's URL, rights or disk
├── LakeDamaged        operator: a file of the lake is not what was written; export the day again
├── LakeDiffers        developer: a day's files do not add up to what PostgreSQL has; they are not used
├── LakeAhead          operator: PostgreSQL has less of a day than the lake; see `--replace`
├── LakeBusy           user: DuckDB took too long, or was told to stop
└── LakeChanged        nobody: a day was exported again under a reader's eyes; ask again
"""

from storage.errors import StorageError


class LakeError(StorageError):
    """The lake could not do what was asked."""


class LakeUnavailable(LakeError):
    """The lake cannot be read or written at all."""


class LakeDamaged(LakeError):
    """A file of the lake is not what an export wrote."""


class LakeDiffers(LakeError):
    """What was written for a day is not what PostgreSQL has of it."""


class LakeAhead(LakeError):
    """The lake has more of a day than PostgreSQL, or another database's: it is not replaced unasked."""


class LakeBusy(LakeError):
    """DuckDB was interrupted before it had read what it was to read."""


class LakeChanged(LakeError):
    """Files that an answer was being read from are gone: the day has been exported again, or is too old."""
