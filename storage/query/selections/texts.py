"""Validates the texts of a selection before they are parsed."""

import re

from storage.errors import BadSelection

_NO_TEXT = re.compile("[\0\ud800-\udfff]")
"""NUL, which PostgreSQL does not store, and lone surrogates, which stand for bytes that are not UTF-8."""


def require_text(text: str, *, longest: int, what: str, parameter: str) -> None:
    """Raises `BadSelection`, with the position, for a text that is too long or has an invalid character.

    `what` begins the message, e.g. "The event's name".
    """
    if len(text) > longest:
        raise BadSelection(
            f"{what} has {len(text)} characters; {longest} are allowed.", at=longest, parameter=parameter
        )
    found = _NO_TEXT.search(text)
    if found is not None:
        kind = "a NUL character" if found[0] == "\0" else "a byte that is not UTF-8"
        raise BadSelection(
            f"{what} has {kind} at character {found.start() + 1}.", at=found.start(), parameter=parameter
        )
