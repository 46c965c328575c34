"""Saved views: addresses of the web UI, with a name, or as a short link only."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert

from storage.errors import NameTaken, TooManyRows, UnknownView
from storage.schema import saved_view

MOST_VIEWS: Final = 1000
"""Maximum views with a name: a list has all of them."""
MOST_LINKS: Final = 100_000
"""Maximum short links without a name; beyond, the oldest are removed."""


@dataclass(frozen=True, slots=True)
class SavedView:
    """An address of the web UI."""

    view_id: str
    name: str | None
    """None: a short link only."""
    path: str
    role: str
    """Role of the caller that saved it."""
    created_at: datetime


def save(connection: Connection, *, view_id: str, name: str | None, path: str, role: str) -> SavedView:
    """Store an address. A short link to the same address is returned as it is. Raises `NameTaken`, `TooManyRows`."""
    # Serializes concurrent calls, so that the limits hold and an address has one short link.
    connection.execute(text("LOCK TABLE saved_view IN SHARE ROW EXCLUSIVE MODE"))
    c = saved_view.c
    if name is None:
        same = select(saved_view).where(c.name.is_(None), c.path == path).limit(1)
        if (found := connection.execute(same).one_or_none()) is not None:
            return SavedView(*found)
        _make_room(connection)
    elif (
        connection.scalar(select(func.count()).select_from(saved_view).where(c.name.is_not(None))) or 0
    ) >= MOST_VIEWS:
        raise TooManyRows(f"There are {MOST_VIEWS:,} saved views, which is the limit. Delete unused ones.")
    row = connection.execute(
        insert(saved_view)
        .values(view_id=view_id, name=name, path=path, role=role)
        .on_conflict_do_nothing(index_elements=[c.name])
        .returning(saved_view)
    ).one_or_none()
    if row is None:
        raise NameTaken(f"There is a saved view named {name!r} already.")
    return SavedView(*row)


def listing(connection: Connection) -> tuple[SavedView, ...]:
    """All views with a name, by name."""
    named = select(saved_view).where(saved_view.c.name.is_not(None)).order_by(saved_view.c.name)
    return tuple(SavedView(*row) for row in connection.execute(named))


def find(connection: Connection, view_id: str) -> SavedView:
    """The view or short link of this id. Raises `UnknownView`."""
    row = connection.execute(select(saved_view).where(saved_view.c.view_id == view_id)).one_or_none()
    if row is None:
        raise _unknown(view_id)
    return SavedView(*row)


def remove(connection: Connection, view_id: str) -> None:
    """Delete a view or short link. Raises `UnknownView`."""
    if not connection.execute(delete(saved_view).where(saved_view.c.view_id == view_id)).rowcount:
        raise _unknown(view_id)


def _make_room(connection: Connection) -> None:
    c = saved_view.c
    beyond = (
        select(c.view_id)
        .where(c.name.is_(None))
        .order_by(c.created_at.desc(), c.view_id)
        .offset(MOST_LINKS - 1)
    )
    connection.execute(delete(saved_view).where(c.view_id.in_(beyond)))


def _unknown(view_id: str) -> UnknownView:
    return UnknownView(f"There is no saved view {view_id[:40]!r}: it was deleted, or the link is incomplete.")
