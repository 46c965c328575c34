"""Encode the facts and the source lines of any number of profiles, one small blob each.

**Facts** are sorted (stack id, value) pairs: ids as differences, values divided by their greatest common divisor. So a
chunk of sample counts has divisor 1, and a cell of nanoseconds is as small as one of counts if periods are multiples of
one another.

    blob = format (1 byte, + 0x10 when a divisor follows) · [divisor u64 LE] · packed columns

**Lines** are (function id, line) → samples with it as leaf, samples with it anywhere, sorted by (function id, line). A
function's first line is stored as it is, the next ones as differences; `total` is stored as its excess over `self`.

    blob = 3 (1 byte) · steps of the functions, then the lines, as jumps · self and total − self, as amounts
         | 1 or 2: packed columns of the four, the older form

Packed columns: storage/blobs/columns.py; jumps and amounts: storage/blobs/small_numbers.py.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.blobs.columns import Ints, from_steps, pack_many, steps, unpack, unpack_two
from storage.blobs.small_numbers import pack_amounts, pack_jumps, unpack_amounts, unpack_jumps
from storage.errors import CorruptChunk

_SCALED = 0x10
_U64 = struct.Struct("<Q")
_LINE_WIDTH = 4
_APART = 3
_TAG_APART = bytes((_APART,))


def encode(stack_ids: npt.ArrayLike, values: npt.ArrayLike) -> bytes:
    """The blob of strictly ascending stack ids ≥ 1 and their values ≥ 1.

    Raises ValueError for others.
    """
    ids = np.asarray(stack_ids, np.int64)
    return encode_many(ids, values, [len(ids)])[0]


def encode_many(stack_ids: npt.ArrayLike, values: npt.ArrayLike, counts: npt.ArrayLike) -> list[bytes]:
    """The blobs of many chunks whose pairs follow each other; inverse of `decode_many`.

    Raises ValueError as `encode` does.
    """
    ids = np.asarray(stack_ids, np.int64)
    amounts = np.asarray(values, np.int64)
    rows = np.asarray(counts, np.int64)
    if ids.shape != amounts.shape or ids.ndim != 1 or int(rows.sum()) != len(ids):
        raise ValueError("the number of values and of stack ids differ")
    filled = rows > 0
    differences = steps(ids, rows)
    if ids.size and (int(differences.min()) < 1 or int(amounts.min()) < 1):
        raise ValueError("stack ids must ascend strictly from 1, and values must be at least 1")
    divisors = np.ones(len(rows), np.int64)
    if ids.size:
        divisors[filled] = np.gcd.reduceat(amounts, (np.cumsum(rows) - rows)[filled])
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

    `counts` are the rows of each (`profile.facts`, `rollup.facts`). Raises `CorruptChunk`.
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
        raise CorruptChunk("a chunk contains a stack twice or a value of 0")
    ids = from_steps(differences, rows)
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
            raise CorruptChunk("a scaled chunk has no divisor")
        divisors[i] = _U64.unpack_from(blob, 1)[0]
        plain.append(bytes((blob[0] & ~_SCALED,)) + bytes(blob[1 + _U64.size :]))
    return divisors, plain


@dataclass(frozen=True, slots=True)
class Lines:
    """Rows of one or many line chunks, as columns of equal length; counts are samples."""

    function: npt.NDArray[np.int32]
    line: npt.NDArray[np.int32]
    self_samples: Ints
    total_samples: Ints


def encode_lines(lines: Lines) -> bytes:
    """The blob of rows sorted strictly by (function, line), with 0 ≤ self ≤ total.

    Raises ValueError for others.
    """
    return encode_lines_many(lines, [len(lines.line)])[0]


def encode_lines_many(lines: Lines, counts: npt.ArrayLike) -> list[bytes]:
    """The blobs of many profiles whose rows follow each other; inverse of `decode_lines`.

    Raises ValueError as `encode_lines` does.
    """
    rows = np.asarray(counts, np.int64)
    function, line = lines.function.astype(np.int64), lines.line.astype(np.int64)
    fresh = np.zeros(len(line), bool)
    fresh[(np.cumsum(rows) - rows)[rows > 0]] = True
    ascends = np.diff((function << 32) | line, prepend=-1) > 0
    if not bool((ascends | fresh).all()):
        raise ValueError("lines must be sorted by function and line, without duplicates")
    functions = steps(function, rows)
    within = line.copy()
    same = np.flatnonzero((functions == 0) & ~fresh)
    within[same] -= line[same - 1]
    parts = (
        pack_jumps(functions, rows),
        pack_jumps(within, rows),
        pack_amounts(lines.self_samples, lines.total_samples - lines.self_samples, rows),
    )
    return [_TAG_APART + step + line + amount for step, line, amount in zip(*parts, strict=True)]


def decode_lines(blobs: Sequence[bytes | memoryview], counts: npt.ArrayLike) -> Lines:
    """The rows of many blobs, concatenated in order; `counts` is `line_chunk.facts`.

    Raises `CorruptChunk`.
    """
    rows = np.asarray(counts, np.int64)
    functions, within, own, rest = _unpack_lines(blobs, rows)
    if not len(functions):
        empty = np.empty(0, np.int32)
        return Lines(empty, empty, own, rest)
    filled = rows[rows > 0]
    first = np.cumsum(filled) - filled
    function = from_steps(functions, rows)
    fresh = functions > 0  # a new function: its line is not a difference
    fresh[first] = True
    starts = np.flatnonzero(fresh)
    line = np.cumsum(within)
    line -= np.repeat(line[starts] - within[starts], np.diff(np.append(starts, len(line))))
    if int(line.max()) > np.iinfo(np.int32).max or int(line.min()) < 0:
        raise CorruptChunk("a line number exceeds 31 bits")
    total = own + rest
    if int(total.min()) < 0:
        raise CorruptChunk("a total exceeds 63 bits")
    return Lines(function.astype(np.int32), line.astype(np.int32), own, total)


def _unpack_apart(blobs: Sequence[bytes | memoryview], rows: Ints) -> list[Ints]:
    functions, behind = unpack_jumps([memoryview(blob)[1:] for blob in blobs], rows)
    within, behind = unpack_jumps(behind, rows)
    return [functions, within, *unpack_amounts(behind, rows)]


def _unpack_lines(blobs: Sequence[bytes | memoryview], rows: Ints) -> Sequence[Ints]:
    """The four columns of blobs in either form, in order."""
    if len(rows) != len(blobs):
        raise ValueError("the number of counts and of blobs differ")
    apart = np.array([len(blob) > 0 and blob[0] == _APART for blob in blobs], np.bool_)
    return unpack_two(
        apart,
        rows,
        lambda of: _unpack_apart([blobs[i] for i in of.tolist()], rows[of]),
        lambda of: unpack([blobs[i] for i in of.tolist()], rows[of], _LINE_WIDTH),
    )
