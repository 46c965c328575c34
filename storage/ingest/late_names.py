"""Naming functions that ingested without a name, in place, as soon as symbols for their binary appear.

A function without a name is a row (binary key, start). Naming it makes the named function's row, or
finds it (another build had it), and points `alias_of` at it: no stack changes, no row is merged,
and a late ingestion with the old symbols meets the same row and is named at once. Readers take
`coalesce(alias_of, function_id)`. What an alias cannot give, lines and the calls inlined inside,
comes with the capture's next generation.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, Engine, Row, or_, select, text, update

from storage.ingest.errors import DictionarySwept
from storage.ingest.interning import Interner
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import FunctionName, Status
from storage.schema import function

_LOCK = 0x666C_6E61
"""First key of the advisory lock; the second is a hash of the binary's key."""


def unnamed_starts(connection: Connection, binary_key: str) -> list[int]:
    """Starts of this binary's functions that have no name, or none from debug information yet.

    In the binary's own offset space, ascending.
    """
    named = function.alias("named")
    starts = connection.scalars(
        select(function.c.start)
        .outerjoin(named, named.c.function_id == function.c.alias_of)
        .where(
            function.c.binary_key == binary_key,
            function.c.start.is_not(None),
            or_(named.c.status.is_(None), named.c.status < Status.FULL),
        )
        .order_by(function.c.start)
    )
    return [start for start in starts if start is not None]


def rename(engine: Engine, interner: Interner, binary_key: str, names: Mapping[int, FunctionName]) -> int:
    """Name the functions that begin at these starts; the number whose name is new or better.

    A name is of the function itself, not of what is inlined at its first instruction. A name never
    gives way to one of a lower status. Owns its transactions; names are kept from a crash in between.
    """
    with engine.connect() as connection:
        rows = connection.execute(
            select(function.c.function_id, function.c.start, function.c.kind).where(
                function.c.binary_key == binary_key, function.c.start.in_(list(names))
            )
        ).all()
    if not rows:
        return 0
    targets = [names[row.start] for row in rows]
    if any(name.binary_key is not None for name in targets):
        raise ValueError("a function is named by a name")
    while True:
        try:
            return _point(engine, interner, binary_key, rows, targets)
        except DictionarySwept:  # the named functions' rows may be gone again: nobody uses them yet
            continue


def _point(
    engine: Engine,
    interner: Interner,
    binary_key: str,
    rows: Sequence[Row[int, int | None, int]],
    targets: Sequence[FunctionName],
) -> int:
    ids = interner.functions(targets, [Kind(row.kind) for row in rows])
    better = function.alias("better")
    renamed = 0
    with engine.begin() as connection:
        interner.hold(connection)
        # One at a time for a binary: two uploads would lock the same rows in different order.
        connection.execute(
            text("SELECT pg_advisory_xact_lock(:first, hashtext(:key))"), {"first": _LOCK, "key": binary_key}
        )
        for row, target, id_ in zip(rows, targets, ids.tolist(), strict=True):
            worse = select(better.c.function_id).where(
                better.c.function_id == function.c.alias_of, better.c.status >= target.status
            )
            renamed += connection.execute(
                update(function)
                .where(function.c.function_id == row.function_id, ~worse.exists())
                .values(alias_of=id_)
            ).rowcount
    return renamed
