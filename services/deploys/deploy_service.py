"""Stores, lists and removes marks of deploys; its answers are those of /api/v1/deploys."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Engine

from services.deploys.errors import UnusableDeploy
from storage import deploys
from storage.database import snapshot
from storage.deploys import Deploy, NewDeploy
from storage.errors import BadSelection
from storage.query.selections.times import format_time, parse_time

Json = dict[str, Any]
LONGEST_NAME = 500
LONGEST_TEXT = 1000
LONGEST_LINK = 2000
_DELETE = "\x7f"


class DeployService:
    """The marks of one database. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        """The caller keeps ownership of the engine."""
        self._engine = engine

    def add(
        self,
        application: str,
        version: str,
        *,
        at: str = "now",
        text: str = "",
        link: str = "",
        added_by: str = "",
        now: datetime,
    ) -> Json:
        """Store a mark: `Mark`. Raises `UnusableDeploy`, `TooManyDeploys`, `DatabaseError`."""
        for member, value, longest in (
            ("application", application, LONGEST_NAME),
            ("version", version, LONGEST_NAME),
            ("text", text, LONGEST_TEXT),
            ("link", link, LONGEST_LINK),
        ):
            _require_text(member, value, longest, required=member in {"application", "version"})
        if link and not _is_web(link):
            raise UnusableDeploy(f"The link {link[:60]!r} is not an http or https URL.", "link")
        try:
            deployed_at = parse_time(at, now=now, parameter="at")
        except BadSelection as error:
            raise UnusableDeploy(str(error), "at") from error
        new = NewDeploy(application, version, deployed_at, text, link, added_by)
        with self._engine.begin() as connection:
            return _mark(deploys.add(connection, new))

    def newest(self, limit: int, application: str = "") -> Json:
        """The newest marks, of one application or of all: a list of `Mark`."""
        with snapshot(self._engine) as connection:
            return {"deploys": [_mark(one) for one in deploys.newest(connection, limit, application)]}

    def remove(self, deploy_id: int) -> Json:
        """Delete a mark: `RemovedMark`. Raises `UnknownDeploy`."""
        with self._engine.begin() as connection:
            deploys.remove(connection, deploy_id)
        return {"deploy_id": deploy_id}


def _require_text(member: str, value: str, longest: int, *, required: bool) -> None:
    if required and not value.strip():
        raise UnusableDeploy(f"The {member} is empty.", member)
    if len(value) > longest:
        raise UnusableDeploy(f"The {member} has {len(value):,} characters; the limit is {longest:,}.", member)
    if any(character < " " or character == _DELETE for character in value):
        raise UnusableDeploy(f"The {member} has a control character.", member)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UnusableDeploy(f"The {member} is not valid Unicode.", member) from None


def _is_web(link: str) -> bool:
    try:
        parts = urlsplit(link)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _mark(found: Deploy) -> Json:
    return {
        "deploy_id": found.deploy_id,
        "application": found.application,
        "version": found.version,
        "at": format_time(found.deployed_at.astimezone(UTC)),
        "text": found.text,
        "link": found.link,
        "added_by": found.added_by,
    }
