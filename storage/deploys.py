"""Marks of deploys: when operators started to roll out a version of an application."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from storage.errors import TooManyDeploys, UnknownDeploy
from storage.schema import deploy

MOST_DEPLOYS = 100_000
"""Maximum marks in a database."""


@dataclass(frozen=True, slots=True)
class NewDeploy:
    """A mark to be stored."""

    application: str
    version: str
    deployed_at: datetime
    text: str = ""
    link: str = ""
    """http or https URL; empty: none."""
    added_by: str = ""


@dataclass(frozen=True, slots=True)
class Deploy(NewDeploy):
    """A stored mark."""

    deploy_id: int = 0


_COLUMNS = tuple(
    deploy.c[name]
    for name in ("application", "version", "deployed_at", "text", "link", "added_by", "deploy_id")
)


def add(connection: Connection, new: NewDeploy) -> Deploy:
    """Store a mark. Raises `TooManyDeploys`."""
    kept = connection.scalar(select(func.count()).select_from(deploy)) or 0
    if kept >= MOST_DEPLOYS:
        raise TooManyDeploys(
            f"There are {kept:,} marks of deploys; the limit is {MOST_DEPLOYS:,}. Remove old ones: fleetprof deploys "
            "remove ID"
        )
    row = connection.execute(
        insert(deploy)
        .values(
            application=new.application,
            version=new.version,
            deployed_at=new.deployed_at,
            text=new.text,
            link=new.link,
            added_by=new.added_by,
        )
        .returning(*_COLUMNS)
    ).one()
    return _deploy(row)


def remove(connection: Connection, deploy_id: int) -> None:
    """Delete a mark. Raises `UnknownDeploy`."""
    if not connection.execute(delete(deploy).where(deploy.c.deploy_id == deploy_id)).rowcount:
        raise UnknownDeploy(f"There is no mark of a deploy {deploy_id}; see: fleetprof deploys list")


def between(connection: Connection, start: datetime, end: datetime, limit: int) -> list[Deploy]:
    """The marks of [start, end), the newest first, at most `limit`."""
    return _found(
        connection.execute(
            select(*_COLUMNS)
            .where(deploy.c.deployed_at >= start, deploy.c.deployed_at < end)
            .order_by(deploy.c.deployed_at.desc(), deploy.c.deploy_id.desc())
            .limit(limit)
        )
    )


def newest(connection: Connection, limit: int, application: str = "") -> list[Deploy]:
    """The newest marks of an application, or of all if it is empty."""
    of = [deploy.c.application == application] if application else []
    return _found(
        connection.execute(
            select(*_COLUMNS)
            .where(*of)
            .order_by(deploy.c.deployed_at.desc(), deploy.c.deploy_id.desc())
            .limit(limit)
        )
    )


def _found(rows: Iterable[Row[Any]]) -> list[Deploy]:
    return [_deploy(row) for row in rows]


def _deploy(row: Row[Any]) -> Deploy:
    return Deploy(**{column.name: getattr(row, column.name) for column in _COLUMNS})
