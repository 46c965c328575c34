"""Evicts a process's cached values above a count and a size."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def evict_oldest(kept: OrderedDict[K, V], size: Callable[[V], int], *, most: int, most_bytes: int) -> None:
    """Remove the first of `kept` until at most `most` values remain, and all but the last take at most `most_bytes`."""
    older = [size(value) for value in kept.values()][:-1]
    held = sum(older)
    for bytes_of_it in older:
        if held <= most_bytes and len(kept) <= most:
            return
        kept.popitem(last=False)
        held -= bytes_of_it
