"""What can go wrong in the store, and who must act.

    StorageError
    ├── DatabaseError
    │   ├── DatabaseUnavailable     operator: the server does not answer; callers may try again
    │   ├── DatabaseRefused         operator: wrong user, password or database in the URL
    │   ├── DatabaseBusy            nobody: a lock was not to be had in time; try again
    │   ├── DatabaseFull            operator: disk, memory or connections run out or fail
    │   ├── NotMigrated             operator: run `fleetprof db upgrade`
    │   └── PartitionMissing        caller: the day was dropped, or not made yet
    ├── Unknown
    │   ├── UnknownMachine          user: name a machine of the inventory
    │   ├── UnknownCampaign         user: name a campaign
    │   ├── UnknownExperiments      user: name a set of experiments
    │   └── UnknownVisit            developer: the visit row is written before anything else
    ├── MachineExists               user: choose another name, or replace it
    ├── ExperimentsExist            user: choose another name, or replace them
    ├── TooManyExperiments          operator: remove sets that nobody asks for
    ├── VisitEnded                  developer: a capture is recorded before its visit is finished
    ├── ArchiveError
    │   ├── ArchiveUnavailable      operator: the archive's URL, rights or disk
    │   ├── BlobMissing             nobody: the capture cannot be reprocessed
    │   └── BlobTooLarge            operator: damaged, or not ours
    ├── BadCapture                  nobody: the capture is quarantined, with this as the reason
    ├── CorruptChunk                operator: ingest the capture again from the archive
    ├── CorruptCell                 nobody: the roller rebuilds the day from its chunks
    ├── BadSelection                user: the query says something that means nothing
    ├── BudgetExceeded              user: ask for less; operator: allow a question more
    └── QuestionDropped             nobody: who asked has gone

Errors of SQLAlchemy and psycopg2 become `DatabaseError`s once, in `storage.database`.
"""

from typing import Literal


class StorageError(Exception):
    """Every error the store raises on purpose; its text is one sentence for a person."""


class DatabaseError(StorageError):
    """The database could not do what was asked."""


class DatabaseUnavailable(DatabaseError):
    """The server does not answer, or the connection broke."""


class DatabaseRefused(DatabaseError):
    """The server answers but does not let us in."""


class DatabaseBusy(DatabaseError):
    """A lock or a serializable moment was not to be had in time; the same call may succeed later."""


class DatabaseFull(DatabaseError):
    """The server has no disk space, memory or connection left, or its disk fails."""


class NotMigrated(DatabaseError):
    """A table or column is missing: the schema is older than this program."""


class PartitionMissing(DatabaseError):
    """A row's day has no partition: it was dropped by retention, or not made ahead."""


class Unknown(StorageError):
    """Nothing has the given name or id."""


class UnknownMachine(Unknown):
    """No machine of the inventory has this name or id."""


class UnknownCampaign(Unknown):
    """No campaign has this name or id."""


class UnknownExperiments(Unknown):
    """No set of experiments has this name."""


class UnknownVisit(Unknown):
    """No visit has this id."""


class MachineExists(StorageError):
    """The inventory has a machine of this name already."""


class ExperimentsExist(StorageError):
    """There is a set of experiments of this name already."""


class TooManyExperiments(StorageError):
    """As many sets are kept as may be."""


class VisitEnded(StorageError):
    """The visit has its outcome; nothing may be added to it."""


class ArchiveError(StorageError):
    """The archive could not do what was asked."""


class ArchiveUnavailable(ArchiveError):
    """The archive cannot be read or written at all."""


class BlobMissing(ArchiveError):
    """The archive holds nothing under this key."""


class BlobTooLarge(ArchiveError):
    """A blob is larger than the reader accepts."""


class BadCapture(StorageError):
    """Bytes from the archive are not a capture this program can read."""


class CorruptChunk(StorageError):
    """A stored blob of facts does not decode."""


class CorruptCell(StorageError):
    """A stored cell does not decode, or contradicts itself."""


class BadSelection(StorageError):
    """A selection cannot be understood."""

    def __init__(self, message: str, *, at: int | None = None, hint: str = "", parameter: str = "") -> None:
        """`hint` says what to write instead: parameters as queries have them, `by=version`, labels' values in double quotes.

        `parameter` is what it is called in queries, empty if no single one is at fault, and `at` the position
        of the offending character in it, from 0.
        """
        super().__init__(message)
        self.at = at
        self.hint = hint
        self.parameter = parameter


class BudgetExceeded(StorageError):
    """A question takes more time or memory than one may."""

    def __init__(self, message: str, *, limit: Literal["time", "memory"], hint: str = "") -> None:
        """`limit` is what it ran into; `hint` says what to ask for instead."""
        super().__init__(message)
        self.limit: Literal["time", "memory"] = limit
        self.hint = hint


class QuestionDropped(StorageError):
    """Whoever asked does not wait for the answer any more; nobody reads this."""
