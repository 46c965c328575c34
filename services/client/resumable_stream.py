"""A stream that goes on where it broke off."""

import random
import time
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from fleetpb import data_pb2
from services.client.errors import Broken

_Record = TypeVar("_Record", data_pb2.ProfileRecord, data_pb2.CaptureRecord)

RETRIES = 8
"""In a row without a step between them; together about two minutes."""
_FIRST_REST_S = 0.5
_LONGEST_REST_S = 30.0
_LONGEST_AFTER_S = 300.0
"""However long the server wants to be left alone."""


class ResumableStream(Generic[_Record]):
    """Records of one query, each once, however often the connection breaks. Not to be shared between threads."""

    def __init__(
        self,
        begin: Callable[[str], Iterator[_Record]],
        cursor: str = "",
        *,
        retries: int = RETRIES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`begin` opens a stream behind a cursor; `retries` 0: none."""
        self._begin: Callable[[str], Iterator[_Record]] = begin
        self._retries = retries
        self._sleep = sleep
        self.cursor = cursor
        """Behind the last record that was given out; keep it to go on in another program."""
        self.progress: data_pb2.StreamProgress | None = None
        """What the server said last of how far it is; its `done` is set when nothing comes any more."""

    def __iter__(self) -> Iterator[_Record]:
        """Raises `Refused`, and `Broken` when it has been tried often enough."""
        failures = 0
        while True:
            try:
                for record in self._begin(self.cursor):
                    # A server that says how far it is and breaks off, again and again, gets nowhere.
                    if record.cursor != self.cursor or not record.HasField("progress"):
                        failures = 0
                    if record.HasField("progress"):
                        self.progress = record.progress
                        self.cursor = record.cursor
                        if record.progress.done:
                            return
                        continue
                    # Before it is given out: whoever keeps the cursor once a record is dealt with goes on behind it.
                    self.cursor = record.cursor
                    yield record
                broken = Broken("The stream ended before its end.")
            except Broken as error:
                broken = error
            failures += 1
            if failures > self._retries:
                raise broken
            rest_s = min(_FIRST_REST_S * 2.0 ** (failures - 1), _LONGEST_REST_S)
            rest_s *= random.uniform(0.5, 1.0)  # noqa: S311 - so that many do not come at once
            self._sleep(max(rest_s, min(broken.after_s, _LONGEST_AFTER_S)))
