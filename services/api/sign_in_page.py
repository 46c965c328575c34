"""Pages of the server itself, for when the web UI cannot show one: a refused login link, and a UI that is not built.

A page is one document: its style and script are part of it, and the Content-Security-Policy allows this script by its
digest. It has the brand, the theme that the reader chose in the web UI, and the form to sign in with a token.
"""

import html
from base64 import b64encode
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Final

from starlette.responses import HTMLResponse

_FOLDER = Path(__file__).parent / "page_files"
_STYLE: Final = (_FOLDER / "page.css").read_text()
_SCRIPT: Final = (_FOLDER / "page.js").read_text()
_POLICY: Final = (
    f"default-src 'self'; script-src 'sha256-{b64encode(sha256(_SCRIPT.encode()).digest()).decode()}'; "
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
)
_BRAND: Final = (
    '<a class="brand" href="/"><svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">'
    '<rect width="16" height="16" rx="3" fill="var(--accent)"/>'
    '<path fill="var(--accent-ink)" d="M3 4h10v2H3zm0 3h6v2H3zm0 3h3v2H3z"/></svg>fleetprof</a>'
)
_FORM: Final = (
    '<form id="sign-in"><label for="token">Token</label><div class="row">'
    '<input id="token" type="password" autocomplete="current-password" spellcheck="false" required maxlength="500">'
    '<button class="primary">Sign in</button></div><p id="problem" role="alert"></p></form>'
)


def page(status: HTTPStatus, title: str, sentence: str, link_command: str | None) -> HTMLResponse:
    """A page that says why the reader is not signed in, and offers both ways to sign in.

    `link_command` prints a login link on this machine; None: only a caller with a token can make one.
    """
    command = link_command or "fleetprof url --api URL"
    who = "where fleetprof runs" if link_command else "with an API token in FLEETPROF_TOKEN"
    advice = f"<p>Get a new link: run this command {who}, and open the address that it prints.</p>{_command(command)}"
    return _document(status, title, sentence, f"{advice}<p>Or sign in with an API token:</p>{_FORM}")


def plain_page(status: HTTPStatus, title: str, sentence: str, command: str = "") -> HTMLResponse:
    """A page with a sentence and, unless it is empty, a command."""
    return _document(status, title, sentence, _command(command) if command else "")


def _command(command: str) -> str:
    text = html.escape(command)
    return (
        f'<p class="command"><code>{text}</code>'
        f'<button type="button" data-copy="{text}" aria-label="copy the command {text}">Copy</button></p>'
    )


def _document(status: HTTPStatus, title: str, sentence: str, content: str) -> HTMLResponse:
    heading, why = html.escape(title), html.escape(sentence)
    return HTMLResponse(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{heading} · fleetprof</title><style>{_STYLE}</style></head>"
        f"<body><header>{_BRAND}</header><main><h1>{heading}</h1><p>{why}</p>{content}</main>"
        f"<script>{_SCRIPT}</script></body></html>",
        status_code=status,
        headers={"Cache-Control": "no-store", "Content-Security-Policy": _POLICY},
    )
