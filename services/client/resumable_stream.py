"""A stream that resumes after its connection broke."""

import random
import time
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from fleetpb import data_pb2
from services.client.errors import Broken

_Record = TypeVar("_Record", data_pb2.ProfileRecord, data_pb2.CaptureRecord)

RETRIES = 8
"""Consecutive retries without progress; together about two minutes."""
_FIRST_REST_S = 0.5
_LONGEST_REST_S = 30.0
_LONGEST_AFTER_S = 300.0
"""Upper limit of a delay that the server requests."""


class ResumableStream(Generic[_Record]):
    """Records of one query, each once, across broken connections. Not safe to share between threads."""

    def __init__(
        self,
        begin: Callable[[str], Iterator[_Record]],
        cursor: str = "",
        *,
        retries: int = RETRIES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`begin` opens a stream at a cursor; `retries` 0: none."""
        self._begin: Callable[[str], Iterator[_Record]] = begin
        self._retries = retries
        self._sleep = sleep
        self.cursor = cursor
        """Position after the last record returned; another program can resume from it."""
        self.progress: data_pb2.StreamProgress | None = None
        """The server's last progress message; its `done` is set at the end of the stream."""

    def __iter__(self) -> Iterator[_Record]:
        """Raises `Refused`, and `Broken` when the retries are used up."""
        failures = 0
        while True:
            try:
                for record in self._begin(self.cursor):
                    # Repeated progress messages before each break are no progress of the stream.
                    if record.cursor != self.cursor or not record.HasField("progress"):
                        failures = 0
                    if record.HasField("progress"):
                        self.progress = record.progress
                        self.cursor = record.cursor
                        if record.progress.done:
                            return
                        continue
                    # Set before the yield: a caller that saves the cursor after handling a record resumes after it.
                    self.cursor = record.cursor
                    yield record
                broken = Broken("The stream ended before it was complete.")
            except Broken as error:
                broken = error
            failures += 1
            if failures > self._retries:
                raise broken
            rest_s = min(_FIRST_REST_S * 2.0 ** (failures - 1), _LONGEST_REST_S)
            rest_s *= random.uniform(0.5, 1.0)  # noqa: S311 - so that clients do not retry at the same moment
            self._sleep(max(rest_s, min(broken.after_s, _LONGEST_AFTER_S)))
