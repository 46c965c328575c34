"""The known name that a misspelt one probably means."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST_TYPED = 64
"""Characters. Longer texts are not misspelt names, and comparing them is slow."""
_SIMILAR = 0.7
"""Ratio of `difflib.SequenceMatcher`, 0…1."""


def near_name(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to `name`, ignoring case; None if none is similar or `name` is long."""
    if len(name) > _LONGEST_TYPED:
        return None
    by_folded = {each.casefold(): each for each in known}
    found = get_close_matches(name.casefold(), by_folded, n=1, cutoff=_SIMILAR)
    return by_folded[found[0]] if found else None
