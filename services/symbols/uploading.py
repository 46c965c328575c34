"""Uploads files and follows the effects, as events.

Files that are stored already are found by their SHA-256, a hundred at a time, and are not sent. A refused file does not
stop the others.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic, sleep
from typing import Any, Final

from services.errors import ApiRefused, ServiceError
from services.symbols.access import SymbolAccess
from services.symbols.errors import UnusableFile
from services.symbols.symbol_files import LocalFile
from storage.errors import StorageError

Json = dict[str, Any]

_ASKED_AT_ONCE: Final = 100
_POLL_S: Final = 0.5
_FORBIDDEN: Final = frozenset({0, 401, 403})
"""Statuses that are the same for every file: not reached, not signed in, not allowed."""


@dataclass(frozen=True, slots=True)
class Known:
    """A file that is stored already."""

    file: LocalFile
    rows: Sequence[Json]
    """`SymbolFile`s, one for each binary that it belongs to."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A file that was accepted."""

    file: LocalFile
    answer: Json
    """`UploadAnswer`."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that was refused."""

    file: LocalFile
    why: str


class Sending:
    """Observer of an upload's progress; does nothing."""

    def begin(self, file: LocalFile) -> None:
        """The upload of this file begins."""

    def sent(self, count: int) -> None:
        """`count` bytes of it have been read."""


def upload(
    access: SymbolAccess, files: Iterable[LocalFile], watch: Sending | None = None
) -> Iterator[Known | Sent | Refused]:
    """Upload the files that are not stored yet; one event per file. Raises ApiRefused if no file can be accepted."""
    watch = watch or Sending()
    remaining = iter(files)
    while batch := list(islice(remaining, _ASKED_AT_ONCE)):
        digests: dict[bytes, LocalFile] = {}
        for file in batch:
            try:
                digests.setdefault(file.sha256(), file)
            except OSError as error:
                yield Refused(file, f"It cannot be read: {error.strerror or error}.")
        answer = access.known(list(digests))
        terms = answer["upload"]
        if not terms["allowed"]:
            raise ApiRefused("Uploads need a token of the role operator. This token has another role.", 403)
        rows: dict[bytes, list[Json]] = {}
        for row in answer["files"]:
            if row["rejected"] is None:  # a rejected file is uploaded again, which restores it
                rows.setdefault(bytes.fromhex(row["sha256"]), []).append(row)
        for digest, file in digests.items():
            if digest in rows:
                yield Known(file, rows[digest])
            elif file.size > terms["largest_bytes"]:
                yield Refused(
                    file,
                    f"It has {file.size:,} bytes; the limit is {terms['largest_bytes']:,}.",
                )
            else:
                watch.begin(file)
                yield _sent(access, file, watch)


def _sent(access: SymbolAccess, file: LocalFile, watch: Sending) -> Sent | Refused:
    try:
        return Sent(file, access.upload(file, sent=watch.sent))
    except ApiRefused as error:
        if error.status in _FORBIDDEN:
            raise
        return Refused(file, str(error))
    except (UnusableFile, StorageError) as error:
        return Refused(file, str(error))
    except OSError as error:
        return Refused(file, f"It cannot be read: {error.strerror or error}.")


@dataclass(slots=True)
class Followed:
    """The effects of uploads, by the keys of their binaries; filled by `follow`."""

    waiting: set[str]
    """Binaries without a reprocessing since the upload."""
    reprocessings: dict[str, Json] = field(default_factory=dict)
    """Their reprocessings at the latest progress."""

    @property
    def left(self) -> int:
        """Captures still to be reprocessed."""
        return sum(one["left"] for one in self.reprocessings.values())

    @property
    def captures(self) -> int:
        """Captures to be reprocessed, in all."""
        return sum(one["captures"] for one in self.reprocessings.values())

    @property
    def renamed(self) -> int:
        """Functions that were named in place."""
        return sum(one["renamed"] for one in self.reprocessings.values())


def follow(access: SymbolAccess, answers: Sequence[Json], *, seconds: float) -> Iterator[Followed]:
    """The progress of the uploads' effects, polled until all are finished or the time is over.

    A file has no effect if no capture contains its binary, or if it is not the best of its binary.
    """
    before = {
        answer["file"]["key"]: answer["reprocessing_before"]
        for answer in answers
        if answer["best"] and answer["seen"]
    }
    followed = Followed(set(before))
    deadline = monotonic() + seconds
    while before:
        for key in list(before):
            try:
                last = access.show(key)["binary"]["reprocessing"]
            except ServiceError:
                continue  # the file was removed meanwhile, or the API is briefly unavailable
            if last is not None and last["id"] > before[key]:
                followed.waiting.discard(key)
                followed.reprocessings[key] = last
                if last["left"] == 0:
                    del before[key]
        yield followed
        if not before or monotonic() >= deadline:
            return
        sleep(_POLL_S)
