"""The keys of binaries and the paths of sources: what may be stored under an index."""

import posixpath
from typing import Final

from storage.symbols.errors import BadKey

MAX_KEY_BYTES: Final = 1024
"""PostgreSQL refuses a row of a btree beyond 2704 bytes, and a row holds two of these."""


def checked(text: str, *, what: str = "binary key") -> str:
    """The text, if it can be stored and indexed. Raises `BadKey`."""
    if not text or "\0" in text or len(text.encode("utf-8", "replace")) > MAX_KEY_BYTES:
        raise BadKey(f"Not a {what}: {text[:80]!r} (1 to {MAX_KEY_BYTES} bytes, no NUL).")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadKey(f"Not a {what}: {text[:80]!r} is not Unicode.") from error
    return text


def source_path(path: str) -> str:
    """A source's path as it is stored: `a/../b` and `./b` are `b`. Raises `BadKey`."""
    return checked(posixpath.normpath(checked(path, what="path")), what="path")


def sentence(text: str, limit: int = 2000) -> str:
    """A name or reason from outside as it can be stored and shown: one line, no control characters, not too long.

    File names and servers' answers are shown in terminals; an escape sequence in one shall do nothing there.
    """
    whole = text[:limit].encode("utf-8", "replace").decode()
    return "".join(letter if letter.isprintable() else " " for letter in whole).strip()
