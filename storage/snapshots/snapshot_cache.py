"""Cache results within a snapshot: half of a small query's statements were repetitions.

Cells are tried first, and chunks are read if cells cannot answer; both need the campaign, the design and the kept days.
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
    """Inside the block, results of `cached_per_snapshot` functions on this connection, a snapshot, are cached."""
    token = _CURRENT.set(_Snapshot(connection))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def cached_per_snapshot(
    read: Callable[Concatenate[Connection, _P], _R],
) -> Callable[Concatenate[Connection, _P], _R]:
    """Cache `read`, whose further arguments are hashable and whose results are never changed; errors are not cached."""

    @wraps(read)
    def cached(connection: Connection, /, *args: _P.args, **named: _P.kwargs) -> _R:
        snapshot = _CURRENT.get()
        if snapshot is None or snapshot.connection is not connection:
            return read(connection, *args, **named)
        asked = (read, args, *sorted(named.items()))
        if asked not in snapshot.answers:
            snapshot.answers[asked] = read(connection, *args, **named)
        answer: _R = snapshot.answers[asked]
        return answer

    return cached
