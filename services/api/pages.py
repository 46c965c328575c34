"""What a browser gets that is not data: the web UI, the login, and pages for when they are missing.

The UI's files hold nothing secret and go to anyone, so that a link into the UI from elsewhere works
although browsers keep back a SameSite=Strict cookie on such a first request; its data do not.
"""

import html
from http import HTTPStatus
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from services.api.auth import SESSION_COOKIE, SESSION_SECONDS, Access, LoginRefused
from services.api.problems import Problem

STATIC = Path(__file__).parent / "static"
_FOREVER = "public, max-age=31536000, immutable"
_LONGEST_TOKEN = 500


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
    def ui(path: str) -> Response:
        if path == "api" or path.startswith("api/"):
            raise Problem(
                HTTPStatus.NOT_FOUND,
                f"There is no /{path}.",
                hint="/api/v1/openapi.json lists what there is.",
            )
        file = _file_below(root, path)
        if file is not None and file.name != "index.html":
            hashed = path.startswith("assets/")
            return FileResponse(file, headers={"Cache-Control": _FOREVER if hashed else "no-cache"})
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
