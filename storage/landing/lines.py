"""The codec of `line_chunk`: (function id, line) → samples with it as leaf, samples with it anywhere.

Rows are sorted by (function id, line). A function's first line is stored as it is, the next ones
as differences; `total` as what it exceeds `self` by.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.landing.columns import Ints, pack_many, unpack
from storage.landing.errors import CorruptChunk

_WIDTH = 4


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
    return pack_many((steps, within, lines.self_samples, lines.total_samples - lines.self_samples), rows)


def decode_lines(blobs: Sequence[bytes | memoryview], counts: npt.ArrayLike) -> Lines:
    """The rows of many blobs, concatenated in order; `counts` is `line_chunk.facts`.

    Raises CorruptChunk.
    """
    rows = np.asarray(counts, np.int64)
    steps, within, own, rest = unpack(blobs, rows, _WIDTH)
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
    if int(function.max()) > limit or int(line.max()) > limit or int(line.min()) < 0:
        raise CorruptChunk("a function id or a line beyond 31 bits")
    return Lines(function.astype(np.int32), line.astype(np.int32), own, own + rest)
