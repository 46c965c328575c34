"""The machine of a name, or an error with the names that may be meant."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, select

from storage.errors import UnknownMachine
from storage.query.selections.near_names import near_names
from storage.schema import machine

_NEIGHBOURS = 250
"""Names on either side, in alphabetical order, that an unknown one is compared with: comparing 20,000 takes a second."""
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
        near = () if "\0" in name else near_names(name, _neighbours(connection, name, within), most=_MEANT)
        raise UnknownMachine(f"The inventory has no machine {name[:100]!r}.", near=near)
    return int(found)


def _neighbours(connection: Connection, name: str, within: Sequence[ColumnElement[bool]]) -> list[str]:
    column = machine.c.name
    before = select(column).where(column < name, *within).order_by(column.desc()).limit(_NEIGHBOURS)
    after = select(column).where(column > name, *within).order_by(column).limit(_NEIGHBOURS)
    return [*connection.scalars(before), *connection.scalars(after)]
