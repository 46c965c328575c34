"""Files that complete others: what dwz moved out of several programs, the other halves of split DWARF.

A debug file notes the keys of what it needs when it is added, because the parts may come later, and in any
order: when the last one is there, the binaries are as good as changed, and are built again.
"""

from sqlalchemy import Connection, Text, func, select, update
from sqlalchemy.dialects.postgresql import array

from storage.schema import debug_file

HALF = "dwo:"
"""Begins the key of one unit's other half. A program needs all of these, or one of its other needs."""


def note_completed(connection: Connection, key: str) -> tuple[str, ...]:
    """Note that `key` is there now; the binaries that lack nothing any more, ascending, noted as changed."""
    needing = connection.execute(
        select(debug_file.c.debug_file_id, debug_file.c.binary_key, debug_file.c.needs)
        .where(debug_file.c.needs.op("@>")(array([key], type_=Text)), debug_file.c.rejected.is_(None))
        .order_by(
            debug_file.c.debug_file_id
        )  # two parts that come at once do not wait for each other in a circle
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
    """Note that a file of `key` is not to be used any more: the binaries that need it are as good as changed."""
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
