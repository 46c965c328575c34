"""Validation of binary keys and source paths, which are stored in indexed columns."""

import posixpath
from typing import Final

from storage.symbols.errors import BadKey

MAX_KEY_BYTES: Final = 1024
"""PostgreSQL rejects a btree entry beyond 2704 bytes, and one entry holds two keys."""


def checked(text: str, *, what: str = "binary key") -> str:
    """Return the text if it can be stored and indexed. Raises `BadKey`."""
    if not text or "\0" in text or len(text.encode("utf-8", "replace")) > MAX_KEY_BYTES:
        raise BadKey(f"Invalid {what} {text[:80]!r}: expected 1 to {MAX_KEY_BYTES} bytes without NUL.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadKey(f"Invalid {what} {text[:80]!r}: not valid Unicode.") from error
    return text


def source_path(path: str) -> str:
    """The stored form of a source path: `a/../b` and `./b` are `b`. Raises `BadKey`."""
    return checked(posixpath.normpath(checked(path, what="path")), what="path")


def sentence(text: str, limit: int = 2000) -> str:
    """Sanitize an external name or reason: one line, no control characters, at most `limit` characters.

    File names and server responses are shown in terminals, where escape sequences must have no effect.
    """
    whole = text[:limit].encode("utf-8", "replace").decode()
    return "".join(letter if letter.isprintable() else " " for letter in whole).strip()
