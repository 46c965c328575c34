"""What a process keeps of what it read, held below a count and a size."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def evict_oldest(kept: OrderedDict[K, V], size: Callable[[V], int], *, most: int, most_bytes: int) -> None:
    """Forget the first of `kept` until it has at most `most` values, and all but the last at most `most_bytes`."""
    older = [size(value) for value in kept.values()][:-1]
    held = sum(older)
    for bytes_of_it in older:
        if held <= most_bytes and len(kept) <= most:
            return
        kept.popitem(last=False)
        held -= bytes_of_it
