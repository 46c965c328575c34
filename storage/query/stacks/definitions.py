"""Where functions are defined; only exports need it, and it is not cached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from storage.arrays import Int64
from storage.schema import binary, function
from storage.snapshots.copy_binary import among

_BATCH = 50_000


@dataclass(frozen=True, slots=True)
class Definition:
    """A function's name in its binary, and where its source begins."""

    raw_name: str
    """Name in the symbol table; empty if it is the function's name."""
    line: int
    """0: unknown."""


UNKNOWN = Definition("", 0)


def definitions(connection: Connection, ids: Int64) -> Mapping[int, Definition]:
    """The definitions of the functions that exist, by id."""
    c = function.c
    found: dict[int, Definition] = {}
    for start in range(0, len(ids), _BATCH):
        rows = connection.execute(
            select(c.function_id, c.raw_name, c.start_line).where(
                among(c.function_id, ids[start : start + _BATCH].tolist())
            )
        )
        found.update((id_, Definition(raw_name, line)) for id_, raw_name, line in rows)
    return found


def build_ids(connection: Connection, names: Sequence[str]) -> Mapping[str, str]:
    """The build-ids, in hex, of binaries by base name; only names that a single binary has ever had.

    A function refers to its binary by name, and several builds of one binary share their functions.
    """
    c = binary.c
    rows = connection.execute(
        select(c.name, func.min(c.key)).where(c.name.in_(names)).group_by(c.name).having(func.count() == 1)
    )
    return {name: key for name, key in rows if _is_hex(key)}


def _is_hex(key: str) -> bool:
    return bool(key) and not set(key) - set("0123456789abcdef")
