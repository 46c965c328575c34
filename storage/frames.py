"""Variable-length encoding of stacks' functions (`storage.stack_blocks`): 7 bits per byte, lowest first.

Ids are assigned in order, so those of a program fit into two or three bytes: a stack of twenty functions takes 46
bytes; an `int[]` takes 104, of which 24 are its header. All bytes of a number except the last have their high bit set
(LEB128: DWARF 5, section 7.6). Packing and unpacking process any number of stacks at once.
"""

import itertools

import numpy as np
import numpy.typing as npt

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_LONGEST = 5
"""Bytes of an id of 31 bits."""
_PIECE = 1 << 17
"""Bytes unpacked at a time, so that intermediate arrays fit into the CPU's caches (2.4 × as fast)."""


def pack(function: npt.NDArray[np.integer], lengths: Int64s) -> tuple[Bytes, Int64s]:
    """Encode stacks, given as concatenated functions (0…2³¹−1); return the bytes and the byte size of each stack."""
    if len(function) and not 0 <= int(function.min()) <= int(function.max()) < 1 << 31:
        raise ValueError("a function id exceeds 31 bits")
    values = function.astype(np.uint32)
    sizes = np.ones(len(values), np.uint8)
    for n in range(1, _LONGEST):
        sizes += values >= 1 << 7 * n
    ends = np.cumsum(sizes, dtype=np.int64)
    at = ends - sizes
    packed = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    packed[at] = values & 0x7F | _continued(sizes > 1)
    for n in range(1, int(sizes.max(initial=1))):
        here = np.flatnonzero(sizes > n)
        packed[at[here] + n] = values[here] >> 7 * n & 0x7F | _continued(sizes[here] > n + 1)
    bounds = np.concatenate(([0], ends))[np.concatenate(([0], np.cumsum(lengths)))]
    return packed, np.diff(bounds)


def _continued(more: npt.NDArray[np.bool_]) -> Bytes:
    """The high bits of bytes that are followed by others."""
    return more.view(np.uint8) << np.uint8(7)


def unpack(packed: bytes | Bytes, sizes: Int64s) -> tuple[Int32s, Int64s]:
    """Decode concatenated stacks; return the functions and the number of functions of each stack.

    Raises ValueError if the bytes are not whole stacks.
    """
    data = np.frombuffer(packed, np.uint8)
    if int(sizes.sum()) != len(data):
        raise ValueError("a stack's length does not match its frames")
    bounds = np.cumsum(sizes)
    cuts = np.searchsorted(bounds, np.arange(_PIECE, len(data), _PIECE))
    cuts = np.unique(np.concatenate(([0], cuts, [len(sizes)])))
    parts = [
        _unpacked(data[int(bounds[low] - sizes[low]) : int(bounds[high - 1])], sizes[low:high])
        for low, high in itertools.pairwise(cuts.tolist())
    ]
    if not parts:
        return np.zeros(0, np.int32), np.zeros(len(sizes), np.int64)
    functions, lengths = zip(*parts, strict=True)
    return np.concatenate(functions), np.concatenate(lengths)


def _unpacked(data: Bytes, sizes: Int64s) -> tuple[Int32s, Int64s]:
    if not len(data):
        return np.zeros(0, np.int32), np.zeros(len(sizes), np.int64)
    last = np.flatnonzero(data < 0x80)
    bounds = np.cumsum(sizes)
    if (data[bounds[sizes > 0] - 1] >= 0x80).any() or not len(last):
        raise ValueError("a function id is cut off")
    first = np.empty_like(last)
    first[0], first[1:] = 0, last[:-1] + 1
    more = last - first
    if int(more.max()) >= _LONGEST:
        raise ValueError("a function id is cut off")
    low = data & np.uint8(0x7F)
    values = low[first].astype(np.int32)
    here = np.arange(len(last))
    for n in range(1, int(more.max()) + 1):
        here = here[more[here] >= n]
        bits = low[first[here] + n].astype(np.int32)
        if n == _LONGEST - 1 and int(bits.max(initial=0)) >= 1 << 31 - 7 * n:
            raise ValueError("a function id exceeds 31 bits")
        values[here] |= bits << 7 * n
    return values, np.diff(np.searchsorted(last, bounds), prepend=0)
