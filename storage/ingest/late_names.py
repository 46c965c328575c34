"""Name functions that were ingested unnamed, in place, as soon as symbols of their binary are available.

A function without a name is a row (binary key, start). Naming it inserts the named function's row, or finds it if
another build had it, and sets `alias_of` to it. No stack changes and no rows merge. A late ingestion with the old
symbols finds the same row and is named at once. Readers use `coalesce(alias_of, function_id)`. An alias cannot provide
lines and inlined calls; these come with the capture's next generation.
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
    """Starts of this binary's functions that have no name, or no name from debug information.

    They are in the binary's own offset space, ascending.
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
    """Name the functions at these starts; return how many names are new or better.

    A name is that of the function itself, not of code inlined at its first instruction. A name is never replaced by one
    of lower status. Owns its transactions; names committed before a crash stay.
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
        raise ValueError("the name of a function is empty")
    while True:
        try:
            return _point(engine, interner, binary_key, rows, targets)
        except DictionarySwept:  # the named functions' rows may be swept again: they are still unused
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
        # One transaction at a time per binary: two uploads would lock the same rows in different order.
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
