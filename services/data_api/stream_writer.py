"""Reads a stream's records batch by batch, in changing threads, and ends the stream from outside."""

import threading
import time
from collections.abc import Callable, Iterator

from google.protobuf.message import Message

from fleetpb import data_pb2
from services.api.problems import Problem
from services.data_api.content_coding import Packer
from services.data_api.framing import Framing
from storage.data.cancellation import Stop

BATCH_BYTES = 256 << 10
"""Bytes of records in a batch. A batch ends with the record that exceeds this or arrives after `LINGER_S`, and with
`progress`."""
LINGER_S = 1.0
_PASSING = 500
"""HTTP statuses from here on are temporary: the same request may succeed later."""


class StreamWriter:
    """One stream. One batch is read at a time."""

    def __init__(
        self,
        records: Iterator[Message],
        kind: type[Message],
        stop: Stop,
        *,
        alone: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`alone`: a record is sent at once, because the next one may take long; `clock` returns seconds."""
        self._records = records
        self._kind = kind
        self._stop = stop
        self._alone = alone
        self._clock = clock
        self._lock = threading.Lock()
        self._failed = False

    def batch(self, framing: Framing, packer: Packer) -> bytes | None:
        """The next records; None: the stream has ended. A `Problem` becomes a last record with the failure."""
        with self._lock:
            if self._failed:
                return None
            parts: list[bytes] = []
            size = 0
            begun = self._clock()
            try:
                for record in self._records:
                    parts.append(framing.framed(record))
                    size += len(parts[-1])
                    full = size >= BATCH_BYTES or self._clock() - begun >= LINGER_S
                    # `progress` comes after a long silence or as the stream's last record.
                    if self._alone or full or record.HasField("progress"):
                        break
            except Problem as problem:
                self._failed = True
                parts.append(framing.framed(_failure(self._kind, problem)))
            return packer.pack(b"".join(parts)) if parts else None

    def first(self, framing: Framing, packer: Packer) -> bytes:
        """The first batch. Raises `Problem`: the status line is not sent yet."""
        with self._lock:
            record = next(self._records)
            return packer.pack(framing.framed(record))

    def end(self) -> None:
        """End the stream: cancel its database query and free its slot."""
        self._stop.set()
        with self._lock:
            close = getattr(self._records, "close", None)
            if close is not None:
                close()


def _failure(kind: type[Message], problem: Problem) -> Message:
    failure = data_pb2.StreamFailure(
        kind=problem.kind,
        detail=problem.detail,
        hint=problem.hint,
        passing=problem.status >= _PASSING or bool(problem.headers.get("Retry-After")),
    )
    return kind(failure=failure)
