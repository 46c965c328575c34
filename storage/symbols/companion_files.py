"""Files that complete others: what dwz moved out of several programs, the other halves of split DWARF.

A debug file records the keys of the parts it needs when it is added, because parts may arrive later and in any
order. When the last part arrives, the binaries are marked as changed and are rebuilt.
"""

from sqlalchemy import Connection, Text, func, select, update
from sqlalchemy.dialects.postgresql import array

from storage.schema import debug_file

HALF = "dwo:"
"""Prefix of the key of one unit's other half. A program needs all its halves, or one of its other needs."""


def note_completed(connection: Connection, key: str) -> tuple[str, ...]:
    """Record that `key` arrived; return the binaries that are now complete, ascending, and mark them as changed."""
    needing = connection.execute(
        select(debug_file.c.debug_file_id, debug_file.c.binary_key, debug_file.c.needs)
        .where(debug_file.c.needs.op("@>")(array([key], type_=Text)), debug_file.c.rejected.is_(None))
        .order_by(
            debug_file.c.debug_file_id
        )  # lock order, so that two parts that arrive at once do not deadlock
        .with_for_update()
    ).all()
    wanted = {need for row in needing for need in row.needs}
    there = set(
        connection.scalars(
            select(debug_file.c.binary_key).where(
                debug_file.c.binary_key.in_(wanted), debug_file.c.rejected.is_(None)
            )
        )
    )
    whole = [row for row in needing if _is_whole(row.needs, there)]
    if whole:
        connection.execute(
            update(debug_file)
            .where(debug_file.c.debug_file_id.in_([row.debug_file_id for row in whole]))
            .values(changed_at=func.clock_timestamp())
        )
    return tuple(sorted({row.binary_key for row in whole}))


def note_parted(connection: Connection, key: str) -> None:
    """Record that a file of `key` is unusable: the binaries that need it are marked as changed."""
    needing = (
        select(debug_file.c.debug_file_id)
        .where(debug_file.c.needs.op("@>")(array([key], type_=Text)), debug_file.c.rejected.is_(None))
        .order_by(debug_file.c.debug_file_id)
        .with_for_update()
    )
    found = connection.scalars(needing).all()
    if found:
        connection.execute(
            update(debug_file)
            .where(debug_file.c.debug_file_id.in_(found))
            .values(changed_at=func.clock_timestamp())
        )


def _is_whole(needs: list[str], there: set[str]) -> bool:
    halves = {need for need in needs if need.startswith(HALF)}
    return bool(there & (set(needs) - halves)) or (bool(halves) and halves <= there)
