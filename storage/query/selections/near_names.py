"""The known names that a misspelt one probably means."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST_TYPED = 64
"""Characters. Longer texts are not misspelt names, and comparing them is slow."""
_SIMILAR = 0.7
"""Ratio of `difflib.SequenceMatcher`, 0…1."""


def near_name(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to `name`, ignoring case; None if none is similar or `name` is long."""
    return next(iter(near_names(name, known, most=1)), None)


def near_names(name: str, known: Iterable[str], *, most: int) -> tuple[str, ...]:
    """At most so many known names that are similar to `name`, ignoring case, the most similar first."""
    if len(name) > _LONGEST_TYPED:
        return ()
    by_folded = {each.casefold(): each for each in known}
    found = get_close_matches(name.casefold(), by_folded, n=most, cutoff=_SIMILAR)
    return tuple(by_folded[each] for each in found)
