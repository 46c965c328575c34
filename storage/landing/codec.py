"""The chunk codec: sorted (stack id, value) pairs as one small blob.

Ids are stored as differences, values divided by their greatest common divisor: a chunk of sample
counts has divisor 1, a cell of nanoseconds is as small as the counts it was made of as long as
periods are multiples of one another. Measured layout and figures: storage/landing/columns.py.

    blob = format (1 byte, + 0x10 when a divisor follows) · [divisor u64 LE] · packed columns
"""

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from storage.landing.columns import Ints, pack_many, unpack
from storage.landing.errors import CorruptChunk

_SCALED = 0x10
_U64 = struct.Struct("<Q")


def encode(stack_ids: npt.ArrayLike, values: npt.ArrayLike) -> bytes:
    """The blob of strictly ascending stack ids ≥ 1 and their values ≥ 1.

    Raises ValueError when they are not.
    """
    ids = np.asarray(stack_ids, np.int64)
    return encode_many(ids, values, [len(ids)])[0]


def encode_many(stack_ids: npt.ArrayLike, values: npt.ArrayLike, counts: npt.ArrayLike) -> list[bytes]:
    """The blobs of many chunks whose pairs stand one chunk after the other; inverse of `decode_many`.

    Raises ValueError as `encode` does.
    """
    ids = np.asarray(stack_ids, np.int64)
    amounts = np.asarray(values, np.int64)
    rows = np.asarray(counts, np.int64)
    if ids.shape != amounts.shape or ids.ndim != 1 or int(rows.sum()) != len(ids):
        raise ValueError("one value for each stack id")
    filled = rows > 0
    first = (np.cumsum(rows) - rows)[filled]
    differences = np.diff(ids, prepend=0)
    differences[first] = ids[first]
    if ids.size and (int(differences.min()) < 1 or int(amounts.min()) < 1):
        raise ValueError("stack ids ascend strictly from 1, values are at least 1")
    divisors = np.ones(len(rows), np.int64)
    if ids.size:
        divisors[filled] = np.gcd.reduceat(amounts, first)
        if int(divisors.max()) > 1:
            amounts = amounts // np.repeat(divisors, rows)
    blobs = pack_many((differences, amounts), rows)
    for i in np.flatnonzero(divisors > 1).tolist():
        blob = blobs[i]
        blobs[i] = bytes((blob[0] | _SCALED,)) + _U64.pack(int(divisors[i])) + blob[1:]
    return blobs


def decode_many(
    blobs: Sequence[bytes | memoryview], counts: npt.ArrayLike
) -> tuple[npt.NDArray[np.int32], Ints]:
    """Stack ids and values of many chunks, concatenated in order.

    `counts` are the rows of each (`profile.facts`, `roll.facts`). Raises CorruptChunk.
    """
    rows = np.asarray(counts, np.int64)
    divisors = None
    plain: Sequence[bytes | memoryview] = blobs
    if any(len(blob) and blob[0] & _SCALED for blob in blobs):
        divisors, plain = _strip_divisors(blobs)
    differences, values = unpack(plain, rows, 2)
    if not len(differences):
        return np.empty(0, np.int32), values
    if int(differences.min()) < 1 or int(values.min()) < 1:
        raise CorruptChunk("a chunk holds a stack twice or a value of 0")
    # Each blob's ids count from 0: take the running sum before it away again.
    ids = np.cumsum(differences)
    filled = rows[rows > 0]
    first = np.cumsum(filled) - filled
    ids -= np.repeat(ids[first] - differences[first], filled)
    if int(ids.max()) > np.iinfo(np.int32).max:
        raise CorruptChunk("a stack id beyond 31 bits")
    if divisors is not None:
        values = values * np.repeat(divisors, rows)
    return ids.astype(np.int32), values


def _strip_divisors(blobs: Sequence[bytes | memoryview]) -> tuple[Ints, list[bytes | memoryview]]:
    divisors = np.ones(len(blobs), np.int64)
    plain: list[bytes | memoryview] = []
    for i, blob in enumerate(blobs):
        if not (len(blob) and blob[0] & _SCALED):
            plain.append(blob)
            continue
        if len(blob) < 1 + _U64.size:
            raise CorruptChunk("a scaled chunk without its divisor")
        divisors[i] = _U64.unpack_from(blob, 1)[0]
        plain.append(bytes((blob[0] & ~_SCALED,)) + bytes(blob[1 + _U64.size :]))
    return divisors, plain
