"""Protobuf's wire format written by numpy: for messages of which there are millions (varints, lengths, bytes)."""

import numpy as np
import numpy.typing as npt

from storage.query.arrays import Int64

Bytes = npt.NDArray[np.uint8]
_BYTES, _VARINT = 2, 0
_LONGEST = 9
"""Bytes of a varint of 63 bits."""
_NEGATIVE = 10
"""Bytes of a negative number: all 64 bits of its two's complement."""


def varint(value: int) -> bytes:
    """A number ≥ 0."""
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """A field that is a number ≥ 0; nothing for 0, which is what readers take then."""
    return varint(field << 3 | _VARINT) + varint(value) if value else b""


def message(field: int, body: bytes) -> bytes:
    """A field that is a message, a text or bytes."""
    return varint(field << 3 | _BYTES) + varint(len(body)) + body


def varint_sizes(values: Int64) -> Int64:
    """Bytes that each of these numbers takes."""
    sizes = np.ones(len(values), np.int64)
    for k in range(1, _LONGEST):
        more = values >= (1 << (7 * k))
        if not more.any():
            break
        sizes += more
    sizes[values < 0] = _NEGATIVE
    return sizes


def put_varints(out: Bytes, at: Int64, values: Int64, sizes: Int64) -> None:
    """Write numbers at these places."""
    bits = values.view(np.uint64)
    for k in range(int(sizes.max(initial=0))):
        here = sizes > k
        byte = (bits[here] >> np.uint64(7 * k)).astype(np.int64) & 0x7F
        out[at[here] + k] = byte | np.where(sizes[here] > k + 1, 0x80, 0)
