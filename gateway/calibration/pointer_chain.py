"""Dependent loads, spread over more memory than the caches hold (DIGEST D2).

Gateways run without memory that is both written and executed (MemoryDenyWriteExecute= of the unit), so they have no
machine code of their own: the C library follows the chain. `_obstack_allocated_p(3)` goes from chunk to chunk by the
pointer at the start of each, until it finds an address or the end; with an address that no chunk holds, it is the loop
that the measurement needs.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import random
from array import array
from typing import TYPE_CHECKING, Final

from gateway.calibration import refusals

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.calibration.pinned_threads import Step

SPACING: Final = 128
"""Bytes between links: CPUs also fetch the neighbour of a requested cache line."""
REGION_BYTES: Final = 1 << 20
"""Links of one region follow each other at random: few enough pages that their addresses stay in the second TLB."""
PIECE_BYTES: Final = 8 << 20
"""Bytes followed by one call: some milliseconds."""
LINKS: Final = PIECE_BYTES // SPACING
_WORD: Final = 8
_NOWHERE: Final = ctypes.c_void_p((1 << 64) - 1)


class _Obstack(ctypes.Structure):
    """Struct obstack of obstack.h up to the last field used."""

    _fields_ = (("chunk_size", ctypes.c_long), ("chunk", ctypes.c_void_p), ("rest", ctypes.c_void_p * 16))


class Chain:
    """Memory with a chain in each of its pieces; freed with its last reference."""

    def __init__(self, size: int, between: Callable[[], object] = lambda: None) -> None:
        """`size` in bytes, at least a piece; rounded down to whole ones. `between` is called repeatedly and may raise.

        Raises CalibrationRefused, OSError.
        """
        try:
            self._follow = ctypes.CDLL(None)._obstack_allocated_p  # noqa: SLF001 - its name in the library
            self._find = ctypes.CDLL(None).memchr
        except AttributeError:
            raise refusals.unsupported(
                "the C library is not glibc; the loop that follows pointers is glibc's"
            ) from None
        self._follow.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        self._find.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
        self._find.restype = ctypes.c_void_p
        self.size: Final = max(1, size // PIECE_BYTES) * PIECE_BYTES
        # Shared: private memory counts as data, which is limited (RLIMIT_DATA).
        self._memory = mmap.mmap(-1, self.size)
        self._base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._between = between
        self._starts = self._link()

    @property
    def base(self) -> int:
        """Its address."""
        return self._base

    @property
    def starts(self) -> tuple[int, ...]:
        """The address of each piece's first link."""
        return self._starts

    def _link(self) -> tuple[int, ...]:
        words = memoryview(self._memory).cast("Q")
        order = list(range(REGION_BYTES // SPACING))
        random.Random(1).shuffle(order)  # noqa: S311 - no secret
        follower = [0] * len(order)
        for link, after in itertools.pairwise(order):
            follower[link] = after * SPACING
        first, last = order[0] * SPACING, order[-1]
        starts = []
        for region in range(0, self.size, REGION_BYTES):
            self._between()
            at = self._base + region
            links = array("Q", [at + offset for offset in follower])
            ends_piece = (region + REGION_BYTES) % PIECE_BYTES == 0
            links[last] = 0 if ends_piece else at + REGION_BYTES + first
            # A chunk's first word is its end, here 0, the second the previous chunk.
            words[region // _WORD + 1 : (region + REGION_BYTES) // _WORD : SPACING // _WORD] = memoryview(
                links
            )
            if region % PIECE_BYTES == 0:
                starts.append(at + first)
        words.release()
        return tuple(starts)

    def follower(self, share: float = 0.0) -> Step:
        """Follow one piece's chain after the other, starting at this share of the memory; a unit is a load."""
        pieces = itertools.cycle(self._rotated(share))
        described = _Obstack(4096, None)
        place = ctypes.byref(described)

        def step() -> int:
            described.chunk = next(pieces)
            self._follow(place, _NOWHERE)
            return LINKS

        return step

    def reader(self, share: float = 0.0) -> Step:
        """Read the memory in order, starting at this share of it; a unit is a byte. Only after `clear`."""
        count = self.size // PIECE_BYTES
        pieces = itertools.cycle(
            [self._base + (at + round(share * count)) % count * PIECE_BYTES for at in range(count)]
        )

        def step() -> int:
            self._find(next(pieces), 1, PIECE_BYTES)
            return PIECE_BYTES

        return step

    def clear(self) -> None:
        """Fill the memory with zeros, which removes the chains."""
        for at in range(0, self.size, PIECE_BYTES):
            self._between()
            ctypes.memset(self._base + at, 0, PIECE_BYTES)

    def _rotated(self, share: float) -> tuple[int, ...]:
        from_ = round(share * len(self._starts)) % len(self._starts)
        return self._starts[from_:] + self._starts[:from_]
