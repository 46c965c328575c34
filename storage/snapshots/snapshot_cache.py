"""What a snapshot has said once it says again without being asked: half of a small question's statements were repeats.

Cells are tried first and chunks read if they cannot tell; both want the campaign, the design and the days that are kept.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class _Snapshot:
    connection: Connection
    answers: dict[Hashable, Any] = field(default_factory=dict)


_CURRENT: ContextVar[_Snapshot | None] = ContextVar("snapshot", default=None)


@contextmanager
def caching_snapshot(connection: Connection) -> Iterator[None]:
    """Inside, what `cached_per_snapshot` reads on this connection, which is a snapshot, is read once."""
    token = _CURRENT.set(_Snapshot(connection))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def cached_per_snapshot(
    read: Callable[Concatenate[Connection, _P], _R],
) -> Callable[Concatenate[Connection, _P], _R]:
    """`read`, whose further arguments are hashable and whose results nobody changes; errors are not remembered."""

    @wraps(read)
    def told(connection: Connection, /, *args: _P.args, **named: _P.kwargs) -> _R:
        snapshot = _CURRENT.get()
        if snapshot is None or snapshot.connection is not connection:
            return read(connection, *args, **named)
        asked = (read, args, *sorted(named.items()))
        if asked not in snapshot.answers:
            snapshot.answers[asked] = read(connection, *args, **named)
        answer: _R = snapshot.answers[asked]
        return answer

    return told
