"""The web UI: its files, and error pages for when they are missing.

The UI's files are not secret and need no login. So a link into the UI from another site works, although browsers
withhold a SameSite=Strict cookie from that first request. Pages contain no data: a page is requested with the cookie
alone, which proves nothing.
"""

import gzip
from functools import lru_cache
from http import HTTPStatus
from mimetypes import guess_type
from pathlib import Path

import zstandard
from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.responses import FileResponse, Response
from starlette.routing import Match
from starlette.types import Scope

from services.api.formats.accept import ZSTD, Coding, accept_encoding, best_coding
from services.api.problems import Problem
from services.api.sign_in_page import plain_page

STATIC = Path(__file__).parent / "static"
_FOREVER = "public, max-age=31536000, immutable"
_PACKABLE = frozenset({".css", ".js", ".svg"})
_ZSTD_LEVEL = 19
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_BUT_PAGES = "fleetprof.but_pages"
"""Key in a scope that excludes the UI's catch-all route from matching."""


class _Pages(APIRoute):
    """A route that a lookup can exclude, to find whether another one matches."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the request unless the scope excludes this route."""
        return (Match.NONE, {}) if scope.get(_BUT_PAGES) else super().matches(scope)


def ui_router(static: Path) -> APIRouter:
    """Every other path: a file of the built UI, or its page, which routes by the path in the browser."""
    router = APIRouter(route_class=_Pages)
    root = static.resolve()

    @router.api_route("/{path:path}", methods=["GET", "HEAD"], include_in_schema=False)
    def ui(request: Request, path: str) -> Response:
        if path == "api" or path.startswith("api/"):
            raise _no_answer(request)
        file = _file_below(root, path)
        if file is not None and file.name != "index.html":
            if not path.startswith("assets/"):
                return FileResponse(file, headers={"Cache-Control": "no-cache"})
            coding = best_coding(accept_encoding(request.headers))
            return _asset(file, coding if file.suffix in _PACKABLE else None)
        # Below a page's path, a dot is part of a name: /source/libc.so.6, /machines/web-1.example.
        if path.startswith("assets/") or ("/" not in path and "." in path):
            raise Problem(HTTPStatus.NOT_FOUND, f"There is no /{path}.")
        index = root / "index.html"
        if not index.is_file():
            return plain_page(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "The web UI is not built",
                "This server has the API under /api/v1, but its web pages are not built. Build them with this command, then reload the page:",
                "make web",
            )
        return FileResponse(index, headers={"Cache-Control": "no-cache"})

    return router


def _no_answer(request: Request) -> Problem:
    """The problem of a GET or HEAD below /api: the path does not exist, or it accepts other methods only."""
    path = request.scope["path"]
    probe = {"type": "http", "path": path, "root_path": request.scope.get("root_path", ""), _BUT_PAGES: True}
    methods = [
        method
        for method in _METHODS
        if any(route.matches({**probe, "method": method})[0] is Match.FULL for route in request.app.routes)
    ]
    if not methods:
        return Problem(
            HTTPStatus.NOT_FOUND,
            f"There is no {path}.",
            hint="/api/v1/openapi.json lists the routes.",
        )
    if "GET" in methods:
        why = "its headers depend on the response."
        hint = "Use GET, e.g. curl -sD - -o /dev/null URL."
    else:
        why, hint = f"it supports {' and '.join(methods)}.", "/api/v1/openapi.json describes it."
    return Problem(
        HTTPStatus.METHOD_NOT_ALLOWED,
        f"{path} does not support {request.method}: {why}",
        hint=hint,
        headers={"Allow": ", ".join(methods)},
    )


def _asset(file: Path, coding: Coding | None) -> Response:
    """A file whose name changes with its content."""
    headers = {"Cache-Control": _FOREVER, "Vary": "Accept-Encoding"}
    if coding is None:
        return FileResponse(file, headers=headers)
    headers["Content-Encoding"] = coding
    media_type, _ = guess_type(file.name)
    return Response(_packed(file, coding), media_type=media_type, headers=headers)


@lru_cache(maxsize=100)
def _packed(file: Path, coding: Coding) -> bytes:
    """The file at the strongest compression, cached (measured: gzip takes 25 ms of CPU for the page's script)."""
    if coding == ZSTD:
        return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(file.read_bytes())
    return gzip.compress(file.read_bytes(), mtime=0)


def _file_below(root: Path, path: str) -> Path | None:
    """The file at this path of a request, if it exists below the (resolved) root."""
    try:
        file = (root / path).resolve()
        return file if file.is_relative_to(root) and file.is_file() else None
    except (OSError, ValueError):  # a name too long for the file system, or with a NUL
        return None
