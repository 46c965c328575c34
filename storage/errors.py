"""Errors of the store, and who must act.

    StorageError
    ├── DatabaseError
    │   ├── DatabaseUnavailable     operator: the server does not answer; callers may retry
    │   ├── DatabaseRefused         operator: wrong user, password or database in the URL
    │   ├── DatabaseBusy            no action: a lock was not available in time; retry
    │   ├── DatabaseFull            operator: disk, memory or connections are exhausted or fail
    │   ├── NotMigrated             operator: run `fleetprof db upgrade`
    │   └── PartitionMissing        caller: the day was dropped, or is not created yet
    ├── Unknown
    │   ├── UnknownMachine          user: name a machine of the inventory
    │   ├── UnknownCampaign         user: name a campaign
    │   ├── UnknownExperiments      user: name a set of experiments
    │   ├── UnknownToken            user: name an API token
    │   ├── UnknownView             user: name a saved view
    │   └── UnknownVisit            developer: the visit row must be written first
    ├── MachineExists               user: choose another name, or replace it
    ├── ExperimentsExist            user: choose another name, or replace them
    ├── TooManyExperiments          operator: remove unused sets
    ├── NameTaken                   user: choose another name
    ├── TooManyRows                 operator: remove unused tokens, views or prices
    ├── VisitEnded                  developer: a capture must be recorded before its visit is finished
    ├── ArchiveError
    │   ├── ArchiveUnavailable      operator: check the archive's URL, rights and disk
    │   ├── BlobMissing             no action: the capture cannot be reprocessed
    │   └── BlobTooLarge            operator: the blob is damaged or foreign
    ├── BadCapture                  no action: the capture is quarantined with this reason
    ├── CorruptChunk                operator: ingest the capture again from the archive
    ├── CorruptCell                 no action: the rollup job rebuilds the day from its chunks
    ├── BadSelection                user: the query is invalid
    ├── BudgetExceeded              user: query less; operator: raise the limit
    └── QuestionDropped             no action: the client disconnected

`storage.database` translates errors of SQLAlchemy and psycopg2 to `DatabaseError`s.
"""

from collections.abc import Sequence
from typing import Literal


class StorageError(Exception):
    """Base class of expected errors; the text is one sentence for users."""


class DatabaseError(StorageError):
    """A database operation failed."""


class DatabaseUnavailable(DatabaseError):
    """The server does not answer, or the connection broke."""


class DatabaseRefused(DatabaseError):
    """The server rejects the connection."""


class DatabaseBusy(DatabaseError):
    """A lock or a serializable snapshot was not available in time; a retry may succeed."""


class DatabaseFull(DatabaseError):
    """The server has no disk space, memory or connections left, or its disk fails."""


class NotMigrated(DatabaseError):
    """A table or column is missing: the schema is older than this program."""


class PartitionMissing(DatabaseError):
    """The partition of a row's day was dropped by retention, or is not created yet."""


class Unknown(StorageError):
    """Nothing has the given name or id."""


class UnknownMachine(Unknown):
    """No machine of the inventory has this name or id."""

    def __init__(self, message: str, *, near: Sequence[str] = ()) -> None:
        """`near` are similar names that exist, the most similar first."""
        super().__init__(message)
        self.near = tuple(near)


class UnknownCampaign(Unknown):
    """No campaign has this name or id."""


class UnknownFunction(Unknown):
    """No function has this id."""


class UnknownExperiments(Unknown):
    """No set of experiments has this name."""


class UnknownToken(Unknown):
    """No API token has this name."""


class UnknownView(Unknown):
    """No saved view has this id."""


class UnknownVisit(Unknown):
    """No visit has this id."""


class MachineExists(StorageError):
    """The inventory has a machine of this name already."""


class ExperimentsExist(StorageError):
    """There is a set of experiments of this name already."""


class TooManyExperiments(StorageError):
    """The maximum number of sets is reached."""


class NameTaken(StorageError):
    """Another token or view has this name."""


class TooManyRows(StorageError):
    """The maximum number of tokens, views or prices is reached."""


class VisitEnded(StorageError):
    """The visit has its outcome; nothing can be added to it."""


class ArchiveError(StorageError):
    """An archive operation failed."""


class ArchiveUnavailable(ArchiveError):
    """The archive cannot be read or written at all."""


class BlobMissing(ArchiveError):
    """The archive has no blob with this key."""


class BlobTooLarge(ArchiveError):
    """A blob exceeds the reader's limit."""


class BadCapture(StorageError):
    """Archived bytes are not a capture that this program can read."""


class CorruptChunk(StorageError):
    """A stored blob of facts does not decode."""


class CorruptCell(StorageError):
    """A stored cell does not decode, or is inconsistent."""


class BadSelection(StorageError):
    """A selection is invalid."""

    def __init__(self, message: str, *, at: int | None = None, hint: str = "", parameter: str = "") -> None:
        """`hint` suggests a correction, with parameters in query form, `by=version`, and label values in double quotes.

        `parameter` is the name of the faulty query parameter, empty if it is not a single one, and `at` the position
        of the offending character in it, from 0.
        """
        super().__init__(message)
        self.at = at
        self.hint = hint
        self.parameter = parameter


class BudgetExceeded(StorageError):
    """A query exceeds its time or memory limit."""

    def __init__(self, message: str, *, limit: Literal["time", "memory"], hint: str = "") -> None:
        """`limit` is the exceeded one; `hint` suggests a smaller query."""
        super().__init__(message)
        self.limit: Literal["time", "memory"] = limit
        self.hint = hint


class QuestionDropped(StorageError):
    """The client does not wait for the answer any more; this error is never shown."""
