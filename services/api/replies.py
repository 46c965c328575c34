"""Answers as they are sent: JSON, compressed, made in a thread."""

import gzip
import json
import zlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from services.api.formats.accept import accepted_codings

Made = tuple[bytes, str]
"""An answer's bytes and their media type."""
_SMALLEST_ZIPPED = 1400
"""Bytes: less fits one packet anyway."""
GZIP_WINDOW = 31
"""zlib's window of 32 KiB, with gzip's header."""


def as_json(document: dict[str, Any]) -> Made:
    """The document as compact JSON."""
    # NaN is no JSON, and no figure: a mistake that must not reach a caller as an answer.
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate, of a file name that is no Unicode, is no reason to fail what was done already.
    return text.encode("utf-8", "replace"), "application/json"


def zipped(
    request: Request,
    content: bytes | Iterator[bytes],
    media_type: str,
    *,
    packed: bool = False,
    vary: str = "Accept-Encoding",
    file_name: str | None = None,
) -> Response:
    """The answer, compressed here in the thread: the event loop has others to serve.

    One that comes in parts is sent as they are made, in other threads. `packed`: it is compressed already.
    With a `file_name` (ASCII) browsers keep the answer as a file.
    """
    headers = {"Cache-Control": "no-store", "Vary": vary}
    if file_name is not None:
        headers["Content-Disposition"] = f'attachment; filename="{file_name}"'
    may_zip = not packed and "gzip" in accepted_codings(request.headers.get("accept-encoding", ""))
    if not isinstance(content, bytes):
        if may_zip:
            headers["Content-Encoding"] = "gzip"
        return StreamingResponse(
            _gzipped(content) if may_zip else content, media_type=media_type, headers=headers
        )
    if may_zip and len(content) >= _SMALLEST_ZIPPED:
        headers["Content-Encoding"] = "gzip"
        content = gzip.compress(content, compresslevel=1, mtime=0)
    return Response(content, media_type=media_type, headers=headers)


def _gzipped(parts: Iterator[bytes]) -> Iterator[bytes]:
    pack = zlib.compressobj(1, zlib.DEFLATED, GZIP_WINDOW)
    for part in parts:
        if packed := pack.compress(part):
            yield packed
    yield pack.flush()


def in_thread(limiter: CapacityLimiter, make: Callable[[], Response]) -> Awaitable[Response]:
    """Run it in one of the limiter's threads; others wait their turn."""
    # Not abandoned when the client goes away: the thread would go on, and its place be given twice.
    return anyio.to_thread.run_sync(make, limiter=limiter)
