"""What a browser gets that is not data: the web UI, the login, and pages for when they are missing.

The UI's files hold nothing secret and go to anyone, so that a link into the UI from elsewhere works
although browsers keep back a SameSite=Strict cookie on such a first request; its data do not.
"""

import gzip
import html
from functools import lru_cache
from http import HTTPStatus
from mimetypes import guess_type
from pathlib import Path

import zstandard
from fastapi import APIRouter, Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from services.api.auth import SESSION_COOKIE, SESSION_SECONDS, Access, LoginRefused
from services.api.formats.accept import ZSTD, Coding, best_coding
from services.api.problems import Problem

STATIC = Path(__file__).parent / "static"
_FOREVER = "public, max-age=31536000, immutable"
_LONGEST_TOKEN = 500
_PACKABLE = frozenset({".css", ".js", ".svg"})
_ZSTD_LEVEL = 19


def login_router(access: Access, *, secure: bool) -> APIRouter:
    """/login; the cookie is for TLS only when `secure`."""
    router = APIRouter()

    @router.get("/login", include_in_schema=False)
    def login(token: str = "") -> Response:
        try:
            cookie = access.open_session(token[:_LONGEST_TOKEN])
        except LoginRefused as error:
            return _page(
                HTTPStatus.FORBIDDEN, "Not signed in", str(error), "Get a new link with: fleetprof url"
            )
        response = RedirectResponse("/", HTTPStatus.SEE_OTHER, headers={"Cache-Control": "no-store"})
        response.set_cookie(
            SESSION_COOKIE,
            cookie,
            max_age=SESSION_SECONDS,
            path="/",
            secure=secure,
            httponly=True,
            samesite="strict",
        )
        return response

    return router


def ui_router(static: Path) -> APIRouter:
    """Every other path: a file of the built UI, or its page, which finds its own way by the path."""
    router = APIRouter()
    root = static.resolve()

    @router.api_route("/{path:path}", methods=["GET", "HEAD"], include_in_schema=False)
    def ui(request: Request, path: str) -> Response:
        if path == "api" or path.startswith("api/"):
            if request.method == "HEAD":
                raise Problem(
                    HTTPStatus.METHOD_NOT_ALLOWED,
                    f"/{path} answers no HEAD: its headers are known when its answer is.",
                    hint="Ask by GET, e.g. curl -sD - -o /dev/null URL.",
                    headers={"Allow": "GET"},
                )
            raise Problem(
                HTTPStatus.NOT_FOUND,
                f"There is no /{path}.",
                hint="/api/v1/openapi.json lists what there is.",
            )
        file = _file_below(root, path)
        if file is not None and file.name != "index.html":
            if not path.startswith("assets/"):
                return FileResponse(file, headers={"Cache-Control": "no-cache"})
            coding = best_coding(request.headers.get("accept-encoding", ""))
            return _asset(file, coding if file.suffix in _PACKABLE else None)
        if "." in path.rpartition("/")[2]:
            raise Problem(HTTPStatus.NOT_FOUND, f"There is no /{path}.")
        index = root / "index.html"
        if not index.is_file():
            return _page(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "The web UI is not built",
                "This server answers under /api/v1, but its pages have not been built.",
                "Build them with: make web",
            )
        return FileResponse(index, headers={"Cache-Control": "no-cache"})

    return router


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
    """The file as tightly as goes, once for all visitors (measured: 25 ms of a CPU for the page's script by gzip)."""
    if coding == ZSTD:
        return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(file.read_bytes())
    return gzip.compress(file.read_bytes(), mtime=0)


def _file_below(root: Path, path: str) -> Path | None:
    """The file at this path of a request, if it is one and lies below the (resolved) root."""
    try:
        file = (root / path).resolve()
        return file if file.is_relative_to(root) and file.is_file() else None
    except (OSError, ValueError):  # a name too long for the file system, or with a NUL
        return None


def _page(status: HTTPStatus, title: str, sentence: str, advice: str) -> HTMLResponse:
    text = [html.escape(part) for part in (title, sentence, advice)]
    return HTMLResponse(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{text[0]} · fleetprof</title>"
        "<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;"
        "padding:0 1rem}code{font-size:.95em}</style>"
        f"<h1>{text[0]}</h1><p>{text[1]}</p><p><code>{text[2]}</code></p></html>",
        status_code=status,
        headers={"Cache-Control": "no-store"},
    )
