"""The codec of `line_chunk`: (function id, line) → samples with it as leaf, samples with it anywhere.

Rows are sorted by (function id, line). A function's first line is stored as it is, the next ones
as differences; `total` as what it exceeds `self` by.

    blob = 3 (1 byte) · steps of the functions, then the lines (storage/landing/jumps.py)
             · self and total − self (storage/landing/amounts.py)
         | 1 or 2: packed columns of the four (storage/landing/columns.py), as all were once
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.landing.amounts import pack_amounts, unpack_amounts
from storage.landing.columns import Ints, unpack, unpack_two
from storage.landing.errors import CorruptChunk
from storage.landing.jumps import pack_jumps, unpack_jumps

_WIDTH = 4
_APART = 3
_TAG_APART = bytes((_APART,))


@dataclass(frozen=True, slots=True)
class Lines:
    """Rows of one or many line chunks, as columns of equal length; counts are samples."""

    function: npt.NDArray[np.int32]
    line: npt.NDArray[np.int32]
    self_samples: Ints
    total_samples: Ints


def encode_lines(lines: Lines) -> bytes:
    """The blob of rows sorted strictly by (function, line), with 0 ≤ self ≤ total.

    Raises ValueError when they are not.
    """
    return encode_lines_many(lines, [len(lines.line)])[0]


def encode_lines_many(lines: Lines, counts: npt.ArrayLike) -> list[bytes]:
    """The blobs of many profiles whose rows stand one profile after the other; inverse of `decode_lines`.

    Raises ValueError as `encode_lines` does.
    """
    rows = np.asarray(counts, np.int64)
    function, line = lines.function.astype(np.int64), lines.line.astype(np.int64)
    fresh = np.zeros(len(line), bool)
    fresh[(np.cumsum(rows) - rows)[rows > 0]] = True
    ascends = np.diff((function << 32) | line, prepend=-1) > 0
    if not bool((ascends | fresh).all()):
        raise ValueError("lines are sorted by function and line, each once")
    steps = np.diff(function, prepend=0)
    steps[fresh] = function[fresh]
    within = line.copy()
    same = np.flatnonzero((steps == 0) & ~fresh)
    within[same] -= line[same - 1]
    parts = (
        pack_jumps(steps, rows),
        pack_jumps(within, rows),
        pack_amounts(lines.self_samples, lines.total_samples - lines.self_samples, rows),
    )
    return [_TAG_APART + step + line + amount for step, line, amount in zip(*parts, strict=True)]


def decode_lines(blobs: Sequence[bytes | memoryview], counts: npt.ArrayLike) -> Lines:
    """The rows of many blobs, concatenated in order; `counts` is `line_chunk.facts`.

    Raises CorruptChunk.
    """
    rows = np.asarray(counts, np.int64)
    steps, within, own, rest = _unpack(blobs, rows)
    if not len(steps):
        empty = np.empty(0, np.int32)
        return Lines(empty, empty, own, rest)
    filled = rows[rows > 0]
    first = np.cumsum(filled) - filled
    function = np.cumsum(steps)
    function -= np.repeat(function[first] - steps[first], filled)
    fresh = steps > 0  # a new function: its line is given as it is
    fresh[first] = True
    starts = np.flatnonzero(fresh)
    line = np.cumsum(within)
    line -= np.repeat(line[starts] - within[starts], np.diff(np.append(starts, len(line))))
    limit = np.iinfo(np.int32).max
    if max(int(function.max()), int(line.max())) > limit or min(int(function.min()), int(line.min())) < 0:
        raise CorruptChunk("a function id or a line beyond 31 bits")
    total = own + rest
    if int(total.min()) < 0:
        raise CorruptChunk("a total beyond 63 bits")
    return Lines(function.astype(np.int32), line.astype(np.int32), own, total)


def _unpack_apart(blobs: Sequence[bytes | memoryview], rows: Ints) -> list[Ints]:
    steps, behind = unpack_jumps([memoryview(blob)[1:] for blob in blobs], rows)
    within, behind = unpack_jumps(behind, rows)
    return [steps, within, *unpack_amounts(behind, rows)]


def _unpack(blobs: Sequence[bytes | memoryview], rows: Ints) -> Sequence[Ints]:
    """The four columns of blobs in either form, in order."""
    if len(rows) != len(blobs):
        raise ValueError("one count for each blob")
    apart = np.array([len(blob) > 0 and blob[0] == _APART for blob in blobs], np.bool_)
    return unpack_two(
        apart,
        rows,
        lambda of: _unpack_apart([blobs[i] for i in of.tolist()], rows[of]),
        lambda of: unpack([blobs[i] for i in of.tolist()], rows[of], _WIDTH),
    )
