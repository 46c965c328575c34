"""The C library's allocator, told that this process works with large arrays now and then.

glibc gives every thread an arena of its own, and an arena keeps the most that ever was in it: an API that
answered one large question in each of its threads stayed at several times what it needed (measured:
from 113 to 617 MiB in half an hour of the same four questions; objects that live were 76 MiB, seven more than at
the start, when traced for six minutes of it). A
fixed M_MMAP_THRESHOLD keeps less too, but every large array is then mapped anew: half as much CPU time
again for an answer. Sources: mallopt(3), malloc_trim(3).
"""

import ctypes
import threading
from collections.abc import Callable

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -2, -3, -8
_ARENAS = 2
_LARGEST = 1 << 30
"""Bytes of an array that is made in what others left, and of what is left before the system has it back at once."""
_LARGEST_BEFORE_2_35 = 32 << 20
"""What glibc took before 2.35, half a thread's heap."""
_PAD = 64 << 20
"""As large as a heap of a thread's arena, so that one that is empty for a moment stays."""


def share_arenas() -> None:
    """Let all threads share two arenas; call it before they start. Nothing happens without glibc."""
    if (mallopt := _function("mallopt", ctypes.c_int, ctypes.c_int)) is not None:
        mallopt(_M_ARENA_MAX, _ARENAS)


def reuse_arrays() -> None:
    """Make large arrays in memory that others left, until it is given back: for one that gives back by the clock.

    The system clears every page it hands out. Merging hundreds of visits makes a gigabyte of arrays that live
    for milliseconds, and a third of its CPU time went into clearing (measured: 3.2 against 2.2 µs a fact). Of
    ingestion, whose arrays are a megabyte, it is a twentieth; of a flame graph's samples of a hundred thousand stacks a third.
    Call it before threads start. Nothing happens without glibc, or if it takes no threshold: the other two alone
    would end the threshold's own growth, and every array would be mapped anew.
    """
    if (mallopt := _function("mallopt", ctypes.c_int, ctypes.c_int)) is not None and (
        mallopt(_M_MMAP_THRESHOLD, _LARGEST) or mallopt(_M_MMAP_THRESHOLD, _LARGEST_BEFORE_2_35)
    ):
        mallopt(_M_TRIM_THRESHOLD, _LARGEST)
        mallopt(_M_TOP_PAD, _PAD)


def trim_malloc() -> None:
    """Return free memory to the system; some milliseconds. Nothing happens without glibc."""
    if (malloc_trim := _function("malloc_trim", ctypes.c_size_t)) is not None:
        malloc_trim(0)


def trim_periodically(every_s: float) -> None:
    """Give back from a thread of its own until the process ends: for one that works by the clock."""

    def run() -> None:
        while not never.wait(every_s):
            trim_malloc()

    never = threading.Event()
    threading.Thread(target=run, name="give-back", daemon=True).start()


def _function(name: str, *arguments: type) -> Callable[..., int] | None:
    try:
        found = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None
    found.argtypes = arguments
    found.restype = ctypes.c_int
    return found  # type: ignore[no-any-return]  # a foreign function
