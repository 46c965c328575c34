"""The common part of gRPC and HTTP: the streams, their slots, and the problems of errors."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeVar

from services.api.problems import Problem, of_storage
from services.data_api.errors import TooManyStreams
from services.data_api.stream_slots import UNNAMED, Holder, StreamSlots, nothing
from services.data_api.streams import Streams
from storage.data.cancellation import Stop
from storage.data.errors import Stopped
from storage.errors import StorageError

LONGEST_S = 4 * 3600.0
"""A stream ends after this time. Its caller resumes it by its cursor, possibly in a process started since."""
_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class StreamService:
    """The data API of one process, for gRPC and HTTP."""

    streams: Streams
    slots: StreamSlots = field(default_factory=StreamSlots)
    close: Callable[[], None] = lambda: None
    """Releases the resources of the streams."""
    longest_s: float = LONGEST_S

    def serve(
        self,
        stop: Stop,
        make: Callable[[], Iterator[_Record]],
        *,
        holder: Holder = UNNAMED,
        cut: Callable[[], object] = nothing,
    ) -> Iterator[_Record]:
        """The records of a stream that holds a slot. Raises `Problem` for every storage error.

        `cut` breaks the caller's connection, from any thread.
        """
        try:
            until = time.monotonic() + self.longest_s
            with self.slots.acquired(stop, cut, holder=holder):
                for record in make():
                    self.slots.offered(stop)
                    yield record
                    self.slots.took(stop)
                    if time.monotonic() > until:
                        stop.set()
        except Stopped as error:
            raise _ended() from error
        except TooManyStreams as error:
            raise Problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                str(error),
                kind="too-many-streams",
                hint=error.hint,
                headers={"Retry-After": "5"},
            ) from error
        except StorageError as error:
            raise of_storage(error) from error


def _ended() -> Problem:
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The server ended this stream.",
        kind="ended",
        hint="Resume with the cursor of the last record.",
        headers={"Retry-After": "1"},
    )
