"""Regular expressions that cannot be made to run for long.

RE2 matches in time linear in the text whatever the pattern, so a stranger's expression cannot
hold a worker; neither Python's `re` nor PostgreSQL's `~` can promise that. Its syntax is theirs
without look-around and back references.
"""

from collections.abc import Callable

import re2

from storage.errors import BadSelection

LONGEST = 512
"""Characters of a pattern."""
_MEMORY = 8 << 20
"""Bytes a compiled pattern may take: `x{1000}{1000}` is refused, not built."""


def full_match(pattern: str, *, at: int | None = None) -> Callable[[str], bool]:
    """A test whether all of a text matches, as `=~` means it. Raises `BadSelection`, naming position `at`."""
    compiled = _compile(pattern, at)
    return lambda text: compiled.fullmatch(text) is not None


def search(pattern: str, *, at: int | None = None) -> Callable[[str], bool]:
    """A test whether a text matches somewhere, as `focus` and `ignore` mean it. Raises `BadSelection`."""
    compiled = _compile(pattern, at)
    return lambda text: compiled.search(text) is not None


def _compile(pattern: str, at: int | None) -> "re2._Regexp":
    if len(pattern) > LONGEST:
        raise BadSelection(
            f"The regular expression has {len(pattern)} characters; {LONGEST} are allowed.",
            at=at,
            hint="Match a common part of the names instead of listing them.",
        )
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = (
            error.args[0].decode("utf-8", "replace")
            if error.args and isinstance(error.args[0], bytes)
            else str(error)
        )
        raise BadSelection(
            f"The regular expression {pattern!r} is not valid: {reason}.",
            at=at,
            hint="RE2 syntax: no look-around and no back references; escape ( ) [ ] { } . * + ? | with a backslash.",
        ) from error
