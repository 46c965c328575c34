"""Answers as they are sent: JSON, compressed, made in a thread."""

import gzip
import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import Request, Response

Made = tuple[bytes, str]
"""An answer's bytes and their media type."""
_SMALLEST_ZIPPED = 1400
"""Bytes: less fits one packet anyway."""


def as_json(document: dict[str, Any]) -> Made:
    """The document as compact JSON."""
    # NaN is no JSON, and no figure: a mistake that must not reach a caller as an answer.
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate, of a file name that is no Unicode, is no reason to fail what was done already.
    return text.encode("utf-8", "replace"), "application/json"


def zipped(
    request: Request,
    content: bytes,
    media_type: str,
    *,
    packed: bool = False,
    vary: str = "Accept-Encoding",
    file_name: str | None = None,
) -> Response:
    """The answer, compressed here in the thread: the event loop has others to serve.

    `packed`: it is compressed already. With a `file_name` (ASCII) browsers keep the answer as a file.
    """
    headers = {"Cache-Control": "no-store", "Vary": vary}
    if file_name is not None:
        headers["Content-Disposition"] = f'attachment; filename="{file_name}"'
    accepted = request.headers.get("accept-encoding", "")
    if not packed and len(content) >= _SMALLEST_ZIPPED and "gzip" in accepted:
        headers["Content-Encoding"] = "gzip"
        content = gzip.compress(content, compresslevel=1, mtime=0)
    return Response(content, media_type=media_type, headers=headers)


def in_thread(limiter: CapacityLimiter, make: Callable[[], Response]) -> Awaitable[Response]:
    """Run it in one of the limiter's threads; others wait their turn."""
    # Not abandoned when the client goes away: the thread would go on, and its place be given twice.
    return anyio.to_thread.run_sync(make, limiter=limiter)
