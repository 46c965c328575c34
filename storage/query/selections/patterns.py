"""Regular expressions with bounded run time.

RE2 matches in time linear in the text, whatever the pattern, so a user's expression cannot block a worker. Neither
Python's `re` nor PostgreSQL's `~` guarantees that. RE2's syntax is theirs without look-around and back references.
"""

from collections.abc import Callable, Sequence

import re2

from storage.errors import BadSelection
from storage.query.selections.texts import require_text

LONGEST = 512
"""Characters of a pattern."""
_MEMORY = 1 << 20
"""Limit of a compiled pattern in bytes: `[\\pL]{400}` is rejected, not compiled.

RE2's own limit of 8 MiB accepts patterns that take 0.2 s to compile and 0.4 ms per name; the library also caches 128
patterns.
"""
_UNENDED = "missing )", "missing ]"
"""Errors that RE2 finds only at the end of a pattern."""


def full_match(
    pattern: str, *, parameter: str = "", places: Sequence[int] | None = None
) -> Callable[[str], bool]:
    """A test whether a whole text matches, for `=~`. Raises `BadSelection` as `search` does."""
    compiled = _compile(pattern, parameter, places)
    return lambda text: compiled.fullmatch(text) is not None


def search(
    pattern: str, *, parameter: str = "", places: Sequence[int] | None = None
) -> Callable[[str], bool]:
    """A test whether a text matches somewhere, for `focus` and `ignore`.

    Raises `BadSelection` for the parameter, at the character that RE2 rejects. `places` are the positions in the
    parameter of the pattern's characters and of its end; None: the pattern is the whole parameter.
    """
    compiled = _compile(pattern, parameter, places)
    return lambda text: compiled.search(text) is not None


def _compile(pattern: str, parameter: str, places: Sequence[int] | None) -> "re2._Regexp":
    places = range(len(pattern) + 1) if places is None else places
    try:
        require_text(pattern, longest=LONGEST, what="The regular expression", parameter=parameter)
    except BadSelection as error:
        error.at = places[min(error.at or 0, len(pattern))]
        if len(pattern) > LONGEST:
            error.hint = "Match a common part of the names instead of listing them."
        raise
    try:
        return re2.compile(pattern, _options())
    except re2.error as error:
        reason = _reason(error)
        raise BadSelection(
            f"The regular expression {pattern!r} is not valid: {reason}.",
            at=places[_position(pattern, reason)],
            hint="RE2 syntax: no look-around and no back references; escape ( ) [ ] { } . * + ? | with a backslash.",
            parameter=parameter,
        ) from error


def _options() -> "re2.Options":
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    return options


def _reason(error: "re2.error") -> str:
    message = error.args[0] if error.args else b""
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)


def _position(pattern: str, reason: str) -> int:
    """Position of the error in the pattern; 0 if RE2 does not give it.

    RE2 gives a piece of the pattern, which may occur there more than once (`[**]**`). The wrong occurrence ends the
    shortest prefix of the pattern with the same error.
    """
    kind, _, piece = reason.partition(": ")
    if kind in _UNENDED:
        return len(pattern)
    if kind.startswith("trailing \\"):
        return len(pattern) - 1
    if kind == "unexpected )":  # the piece is the whole pattern
        piece = ")"
    found = pattern.find(piece) if piece else -1
    while found >= 0:
        try:
            re2.compile(pattern[: found + len(piece)], _options())
        except re2.error as error:
            if _reason(error).partition(": ")[0] == kind:
                return found
        found = pattern.find(piece, found + 1)
    return max(pattern.find(piece), 0) if piece else 0
