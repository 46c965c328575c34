"""Saves, lists and deletes views; its answers are those of /api/v1/views."""

import re
import secrets
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from sqlalchemy import Engine

from services.access.errors import UnusableEntry
from storage.access import saved_views
from storage.access.saved_views import SavedView
from storage.database import snapshot
from storage.errors import UnknownView
from storage.query.selections.times import format_time

Json = dict[str, Any]
LONGEST_NAME: Final = 100
LONGEST_PATH: Final = 8000
"""Characters. Servers and proxies accept addresses of about this length."""
_ID_BYTES: Final = 9
"""72 random bits: a short link cannot be guessed."""
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
_PRINTABLE: Final = re.compile(r"[!-~]+")
"""ASCII without spaces and control characters, which browsers remove from addresses."""
_NO_PAGES: Final = frozenset({"api", "login", "logout", "v", "assets", "healthz", "readyz", "metrics"})
"""First segments of paths that are not pages of the web UI."""


class ViewService:
    """The saved views of one database. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        """The caller keeps ownership of the engine."""
        self._engine = engine

    def save(self, name: str | None, path: str, *, role: str) -> Json:
        """Store an address: `View`. Without a name it is a short link only.

        Raises UnusableEntry, `NameTaken`, `TooManyRows`, `DatabaseError`.
        """
        if name is not None:
            name = " ".join(name.split())
            if not name or len(name) > LONGEST_NAME or not name.isprintable():
                raise UnusableEntry(
                    f"{name[:60]!r} is not a valid name of a view.",
                    parameter="name",
                    hint=f"Use 1 to {LONGEST_NAME} printable characters.",
                )
        check_path(path)
        view_id = secrets.token_urlsafe(_ID_BYTES)
        with self._engine.begin() as connection:
            return _view(saved_views.save(connection, view_id=view_id, name=name, path=path, role=role))

    def listing(self) -> Json:
        """All views with a name, by name: `Views`."""
        with snapshot(self._engine) as connection:
            return {"views": [_view(view) for view in saved_views.listing(connection)]}

    def path_of(self, view_id: str) -> str:
        """The address of a view or short link. Raises `UnknownView`, `DatabaseError`."""
        _check_id(view_id)
        with snapshot(self._engine) as connection:
            path = saved_views.find(connection, view_id).path
        # Someone who can write to the database could lead readers to another site.
        check_path(path)
        return path

    def remove(self, view_id: str) -> Json:
        """Delete a view or short link: `RemovedView`. Raises `UnknownView`, `DatabaseError`."""
        _check_id(view_id)
        with self._engine.begin() as connection:
            saved_views.remove(connection, view_id)
        return {"id": view_id}


def _check_id(view_id: str) -> None:
    if not _ID.fullmatch(view_id):  # the database refuses some characters
        raise UnknownView(f"There is no saved view {view_id[:40]!r}.")


def check_path(path: str) -> None:
    """Check that a browser, led to this address by the API, stays at a page of the web UI. Raises UnusableEntry."""
    problem = _problem_of(path)
    if problem:
        raise UnusableEntry(
            f"The address {path[:60]!r} cannot be saved: {problem}.",
            parameter="path",
            hint="Send the path and query of a page of this web UI, such as /?from=now-1d.",
        )


def _problem_of(path: str) -> str:
    if len(path) > LONGEST_PATH:
        return f"it has {len(path):,} characters, more than {LONGEST_PATH:,}"
    if not path.startswith("/") or path.startswith("//"):
        return "it does not begin with a single slash"
    if not _PRINTABLE.fullmatch(path):
        return "it contains a space, a control character or a character outside of ASCII"
    if "\\" in path or "#" in path:
        return "it contains a backslash or a number sign"
    segments = [unquote(segment) for segment in urlsplit(path).path.split("/")[1:]]
    # Browsers resolve these segments, also encoded: /./login would open /login.
    if any(segment in {".", ".."} for segment in segments):
        return "it contains the segment . or .."
    if "" in segments[:-1] or any("/" in segment or "\\" in segment for segment in segments):
        return "it contains an empty segment, or a slash inside of one"
    if segments[0] in _NO_PAGES:
        return f"/{segments[0]} is not a page of the web UI"
    return ""


def _view(view: SavedView) -> Json:
    return {
        "id": view.view_id,
        "name": view.name,
        "path": view.path,
        "short": f"/v/{view.view_id}",
        "role": view.role,
        "created_at": format_time(view.created_at),
    }
