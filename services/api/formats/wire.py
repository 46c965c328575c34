"""Protobuf's wire format written by numpy, for millions of messages (varints, lengths, bytes)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from storage.arrays import Int64

Bytes = npt.NDArray[np.uint8]
_BYTES, _VARINT = 2, 0
_LONGEST = 9
"""Bytes of a varint of 63 bits."""
_NEGATIVE = 10
"""Bytes of a negative number: all 64 bits of its two's complement."""


def varint(value: int) -> bytes:
    """A number ≥ 0 as a varint."""
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """A numeric field ≥ 0; nothing for 0, the default of readers."""
    return varint(field << 3 | _VARINT) + varint(value) if value else b""


def message(field: int, body: bytes) -> bytes:
    """A field that is a message, a text or bytes."""
    return varint(field << 3 | _BYTES) + varint(len(body)) + body


def varint_sizes(values: Int64) -> Int64:
    """Bytes of each number as a varint."""
    sizes = np.ones(len(values), np.int64)
    for k in range(1, _LONGEST):
        more = values >= (1 << (7 * k))
        if not more.any():
            break
        sizes += more
    sizes[values < 0] = _NEGATIVE
    return sizes


def put_varints(out: Bytes, at: Int64, values: Int64, sizes: Int64) -> None:
    """Write numbers at these offsets."""
    bits = values.view(np.uint64)
    for k in range(int(sizes.max(initial=0))):
        here = sizes > k
        byte = (bits[here] >> np.uint64(7 * k)).astype(np.int64) & 0x7F
        out[at[here] + k] = byte | np.where(sizes[here] > k + 1, 0x80, 0)


def opened(out: Bytes, at: Int64, field: int, size: Int64) -> Int64:
    """Write tags and lengths of messages of these sizes; returns the offsets of their bodies."""
    out[at] = field << 3 | _BYTES
    sizes = varint_sizes(size)
    put_varints(out, at + 1, size, sizes)
    return at + 1 + sizes


def records(field: int, columns: Sequence[tuple[int, Int64]]) -> bytes:
    """Messages of this field, one per row. Columns hold numbers ≥ 0, each with its tag, which is below 128.

    A number 0 is left out. The length of a nested message is also a column, with a tag of `tag_of_message`.
    """
    sizes = [np.where(values != 0, 1 + varint_sizes(values), 0) for _, values in columns]
    body = sum(sizes, start=np.zeros(len(columns[0][1]), np.int64))
    size = 1 + varint_sizes(body) + body
    out = np.zeros(int(size.sum()), np.uint8)
    at = opened(out, np.cumsum(size) - size, field, body)
    for (tag, values), taken in zip(columns, sizes, strict=True):
        there = taken > 0
        out[at[there]] = tag
        put_varints(out, at[there] + 1, values[there], taken[there] - 1)
        at = at + taken
    return out.tobytes()


def tag_of_number(field: int) -> int:
    """The tag of a numeric field, for `records`."""
    return field << 3 | _VARINT


def tag_of_message(field: int) -> int:
    """The tag of a nested message, for `records`."""
    return field << 3 | _BYTES
