"""The machine of a name, or an error with the names that may be meant."""

from collections.abc import Sequence
from itertools import takewhile

from sqlalchemy import ColumnElement, Connection, select

from storage.errors import UnknownMachine
from storage.query.selections.near_names import near_names
from storage.schema import machine

_NEIGHBOURS = 250
"""Names on either side, in alphabetical order, that an unknown one is compared with: comparing 20,000 takes a second."""
_COMPARED = 20
_MEANT = 3


def find_machine(connection: Connection, name: str, *, removed: bool = False) -> int:
    """The id of the machine. Raises `UnknownMachine`, with similar names.

    `removed`: also a machine that was removed from the inventory.
    """
    within = [] if removed else [machine.c.removed_at.is_(None)]
    # A name with NUL is in no inventory, and PostgreSQL takes no such text.
    found = (
        None
        if "\0" in name
        else connection.scalar(select(machine.c.machine_id).where(machine.c.name == name, *within))
    )
    if found is None:
        near = () if "\0" in name else _meant(connection, name, within)
        raise UnknownMachine(f"The inventory has no machine {name[:100]!r}.", near=near)
    return int(found)


def _meant(connection: Connection, name: str, within: Sequence[ColumnElement[bool]]) -> list[str]:
    similar = near_names(name, _neighbours(connection, name, within), most=_COMPARED)
    # Names of hosts end in numbers, which are all similar: those with the longest common beginning come first.
    return sorted(similar, key=lambda each: -_common_beginning(name, each))[:_MEANT]


def _common_beginning(one: str, other: str) -> int:
    pairs = zip(one.casefold(), other.casefold(), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _neighbours(connection: Connection, name: str, within: Sequence[ColumnElement[bool]]) -> list[str]:
    column = machine.c.name
    before = select(column).where(column < name, *within).order_by(column.desc()).limit(_NEIGHBOURS)
    after = select(column).where(column > name, *within).order_by(column).limit(_NEIGHBOURS)
    return [*connection.scalars(before), *connection.scalars(after)]
