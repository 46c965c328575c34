"""Moments of many cells, unpacked at first use: the reader of `storage.rollup.moments_codec`."""

import itertools
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from storage.arrays import Bool, Int64, among, counts
from storage.blobs.columns import unpack
from storage.errors import CorruptCell, CorruptChunk
from storage.rollup import visit_list_codec
from storage.rollup.moments import Sums, concatenated, empty
from storage.rollup.moments_codec import (
    MANY,
    MANY_CELL,
    MANY_WIDTH,
    ONE,
    ONE_CELL,
    Blobs,
    check_amounts,
    functions_of_steps,
    own_x_of_one_visit,
    parted,
    sums_of_codes,
    sums_of_one_visit,
    totals_of,
    unpack_functions,
)
from storage.rollup.visit_lists import VisitLists

_PAIRS_AT_ONCE = 1_000_000
_ONE_BYTES, _MANY_BYTES = 48, 120
"""Memory per row of either kind while it is unpacked; half of it and three quarters are retained."""
_PAIR_BYTES = 200
"""Memory per pair of a cell that lists its visits, while it is unpacked."""


def decode(blobs: Blobs, wanted: Bool | None = None) -> Sums:
    """The sums of many cells, in order; of all functions, or those `wanted` by id. Raises `CorruptCell`."""
    return Unpacked(blobs).sums(wanted)


@dataclass(frozen=True, slots=True)
class Amounts:
    """Amounts by function of some cells, in columns, cell by cell. A function may repeat, once per visit."""

    cell: Int64
    """Indices of the cells with at least one function."""
    rows: Int64
    """Rows of each of these cells."""
    divisor: Int64
    """Units that 1 stands for below, per cell."""
    function: Int64
    own: Int64
    total: Int64


class Unpacked:
    """The columns of many blobs, unpacked at first use and cached."""

    def __init__(self, blobs: Blobs) -> None:
        """Reads nothing yet."""
        self._blobs = blobs

    def of(self, cells: Int64) -> "Unpacked":
        """The given cells, in the given order, not unpacked."""
        return Unpacked([self._blobs[cell] for cell in cells.tolist()])

    @property
    def stored(self) -> int:
        """Bytes of the blobs."""
        return sum(map(len, self._blobs))

    @property
    def rows(self) -> Int64:
        """Functions of each cell, or its (function, visit) pairs, from the heads. Raises `CorruptCell`."""
        return np.array([head[2] for head in self._parted[0]], np.int64)

    @property
    def size(self) -> int:
        """Bytes that `amounts` unpacks, most of which are retained; from the heads. Raises `CorruptCell`."""
        kinds, rows = np.array([head[1:3] for head in self._parted[0]], np.int64).reshape(-1, 2).T
        ones, many, lists = (rows[kinds == kind] for kind in (ONE, MANY, visit_list_codec.KIND))
        at_once = max(min(int(lists.sum()), _PAIRS_AT_ONCE), int(lists.max(initial=0)))
        return _ONE_BYTES * int(ones.sum()) + _MANY_BYTES * int(many.sum()) + _PAIR_BYTES * at_once

    def amounts(self) -> Iterator[Amounts]:
        """Amounts of all functions without the other sums, in parts, unordered. Raises `CorruptCell`."""
        for cells, part in self._parts:
            for low, high, *columns in part.amounts():
                yield Amounts(cells[low:high], part.rows[low:high], part.divisor[low:high], *columns)

    def sums(self, wanted: Bool | None = None) -> Sums:
        """The sums in order; of all functions, or those `wanted` by id. Raises `CorruptCell`."""
        if not self._parts:
            return empty(0)
        joined = concatenated([part.sums(wanted) for _, part in self._parts])
        if len(self._parts) == 1:
            return joined
        return joined.of(np.argsort(np.concatenate([cells for cells, _ in self._parts])))

    @cached_property
    def _parted(self) -> tuple[list[tuple[int, ...]], list[memoryview]]:
        return parted(self._blobs)

    @cached_property
    def _parts(self) -> list[tuple[Int64, "_Ones | _Many | _Lists"]]:
        """By kind: indices of the cells, and their columns."""
        heads, everything = self._parted
        kinds = np.array([head[1] for head in heads], np.int64)
        rows = np.array([head[2] for head in heads], np.int64)
        divisor = np.array([head[3] for head in heads], np.int64)
        parts: list[tuple[Int64, _Ones | _Many | _Lists]] = []
        for kind, read in ((ONE, _Ones.of), (MANY, _Many.of), (visit_list_codec.KIND, _Lists.of)):
            chosen = np.flatnonzero(kinds == kind)
            if not len(chosen):
                continue
            bodies = [everything[i] for i in chosen.tolist()]
            try:
                parts.append((chosen, read(bodies, rows[chosen], divisor[chosen])))
            except (CorruptChunk, struct.error) as error:
                raise CorruptCell(f"cannot decode moments: {error}") from error
        return parts


def _of_wanted(columns: Sequence[Int64], rows: Int64, wanted: Bool | None) -> tuple[Sequence[Int64], Int64]:
    """The columns of the wanted functions, and rows of each cell; the first column has the functions."""
    if wanted is None:
        return columns, rows
    keep = among(columns[0], wanted)
    return [column[keep] for column in columns], counts(
        np.repeat(np.arange(len(rows)), rows)[keep], len(rows)
    )


_Portion = tuple[int, int, Int64, Int64, Int64]
"""Cells [low, high), and function, self and total of their rows."""


@dataclass(frozen=True, slots=True)
class _Ones:
    """Cells of one visit each."""

    heads: list[tuple[int, float, float]]
    rows: Int64
    divisor: Int64
    function: Int64
    own: Int64
    total: Int64

    @classmethod
    def of(cls, bodies: Blobs, rows: Int64, divisor: Int64) -> "_Ones":
        functions, own, rest = unpack_functions([memoryview(body)[ONE_CELL.size :] for body in bodies], rows)
        heads = [ONE_CELL.unpack_from(body) for body in bodies]
        return cls(heads, rows, divisor, functions_of_steps(functions, rows), own, totals_of(own, rest))

    def amounts(self) -> Iterator[_Portion]:
        for low, high, of in _portions(self.rows):
            yield low, high, self.function[of], self.own[of], self.total[of]

    def sums(self, wanted: Bool | None) -> Sums:
        machines = np.array([c[0] for c in self.heads], np.int64)
        x, xe = np.array([c[1] for c in self.heads]), np.array([c[2] for c in self.heads])
        check_amounts(x, xe)
        (function, own, total), rows = _of_wanted((self.function, self.own, self.total), self.rows, wanted)
        of = np.repeat(x, rows)
        own2, total2, own4, total4 = sums_of_one_visit(own, total)
        one = np.ones(len(own), np.int64)
        return Sums(
            self.divisor, np.ones(len(x), np.int64), machines, x, x * x, (x * x) * (x * x), xe, rows,
            function, one, np.repeat(machines, rows), own, total,
            own2, total2, own * of, total * of, own4, total4,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Many:
    """Cells of several visits, stored as sums."""

    heads: list[tuple[Any, ...]]
    rows: Int64
    divisor: Int64
    columns: tuple[Int64, ...]
    """Functions, then the other columns as packed."""

    @classmethod
    def of(cls, bodies: Blobs, rows: Int64, divisor: Int64) -> "_Many":
        functions, *others = unpack([body[MANY_CELL.size :] for body in bodies], rows, MANY_WIDTH)
        heads = [MANY_CELL.unpack_from(body) for body in bodies]
        return cls(heads, rows, divisor, (functions_of_steps(functions, rows), *others))

    def amounts(self) -> Iterator[_Portion]:
        for low, high, of in _portions(self.rows):
            own = self.columns[3][of]
            yield low, high, self.columns[0][of], own, totals_of(own, self.columns[4][of])

    def sums(self, wanted: Bool | None) -> Sums:
        visits, machines = (np.array([c[i] for c in self.heads], np.int64) for i in (0, 1))
        x, xx, xxxx, xe = (np.array([c[i] for c in self.heads], np.float64) for i in (2, 3, 4, 5))
        packed, rows = _of_wanted(self.columns, self.rows, wanted)
        function, row_visits, row_machines, own, rest = packed[:5]
        own2, total2, own_x, total_x, own4, total4 = map(sums_of_codes, packed[5:])
        check_amounts(x, xx, xxxx, xe, own2, total2, own_x, total_x, own4, total4)
        total = totals_of(own, rest)
        at = np.flatnonzero(row_visits == 1)
        one_own, one_total = own[at], total[at]
        guesses = (
            *sums_of_one_visit(one_own, one_total),
            own_x_of_one_visit(one_own, one_total, total_x[at]),
        )
        for column, guess in zip((own2, total2, own4, total4, own_x), guesses, strict=True):
            implied = column[at] == 0
            column[at[implied]] = guess[implied]
        return Sums(
            self.divisor, visits, machines, x, xx, xxxx, xe, rows,
            function, row_visits, row_machines, own, total,
            own2, total2, own_x, total_x, own4, total4,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Lists:
    """Cells that list their visits."""

    bodies: Blobs
    rows: Int64
    divisor: Int64
    kept: VisitLists | None
    """Decoded; None if there are too many pairs to retain."""

    @classmethod
    def of(cls, bodies: Blobs, rows: Int64, divisor: Int64) -> "_Lists":
        few = int(rows.sum()) <= _PAIRS_AT_ONCE
        return cls(bodies, rows, divisor, visit_list_codec.decode(bodies, rows, divisor) if few else None)

    def amounts(self) -> Iterator[_Portion]:
        low = 0
        for lists in self._decoded():
            high = low + len(lists)
            yield low, high, lists.function, lists.own, lists.total
            low = high

    def sums(self, wanted: Bool | None) -> Sums:
        return concatenated(
            [(lists if wanted is None else lists.of_functions(wanted)).sums() for lists in self._decoded()]
        )

    def _decoded(self) -> Iterator[VisitLists]:
        """Decode in parts: a pair of a byte or two takes two hundred bytes while it is summed."""
        if self.kept is not None:
            yield self.kept
            return
        for low, high, _ in _portions(self.rows):
            yield visit_list_codec.decode(self.bodies[low:high], self.rows[low:high], self.divisor[low:high])


def _portions(rows: Int64) -> Iterator[tuple[int, int, slice]]:
    """Cells [low, high) of some `_PAIRS_AT_ONCE` rows together, or of one larger cell, and the slice of their rows."""
    ends = np.cumsum(rows)
    bounds = [0, *(np.flatnonzero(np.diff(ends // _PAIRS_AT_ONCE)) + 1).tolist(), len(rows)]
    for low, high in itertools.pairwise(bounds):
        yield low, high, slice(int(ends[low] - rows[low]), int(ends[high - 1]))
