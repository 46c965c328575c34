"""Errors of the lake, and who must act.

LakeError
├── LakeUnavailable    operator: check the lake's URL, rights and disk
├── LakeDamaged        operator: a file of the lake is not as written; export the day again
├── LakeDiffers        developer: a day's files do not add up to PostgreSQL's totals; they are not used
├── LakeAhead          operator: PostgreSQL has less of a day than the lake; see `--replace`
├── LakeBusy           user: DuckDB took too long or was stopped
└── LakeChanged        no action: a day was exported again during a query; repeat the query
"""

from storage.errors import StorageError


class LakeError(StorageError):
    """A lake operation failed."""


class LakeUnavailable(LakeError):
    """The lake cannot be read or written at all."""


class LakeDamaged(LakeError):
    """A file of the lake is not as an export wrote it."""


class LakeDiffers(LakeError):
    """The files written for a day differ from PostgreSQL's data."""


class LakeAhead(LakeError):
    """The lake has more of a day than PostgreSQL, or another database's; it is replaced only on request."""


class LakeBusy(LakeError):
    """DuckDB was interrupted before the query finished."""


class LakeChanged(LakeError):
    """Files of a running query are gone: the day was exported again, or deleted by retention."""
