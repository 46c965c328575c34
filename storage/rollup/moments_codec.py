"""The blob of a cell's moments (`rollup.moments`).

    blob   = version (1) · kind (1) · rows u32 · divisor u64 · cell · packed columns, little-endian
    kind 1 = one visit: everything follows from x and each function's self and total
             cell: machine bits i64, x f64, X·x f64
             functions: 3 (1 byte) · steps, as jumps · self and total − self, as amounts
             or 1 or 2: packed columns of the three, the older form; the first takes a seventh less
    kind 2 = several visits: cell: visits u32, machine bits i64, Σx, Σx², Σx⁴, Σx·X f64
             columns: function step, visits, machine bits, self, total − self, and the six sums
    kind 3 = several visits, listed: storage/rollup/visit_list_codec.py

Columns are packed as in storage/blobs/columns.py, jumps and amounts as in storage/blobs/small_numbers.py. A sum is an
integer below 2⁵³, or the bits of its double, which are larger. Sums that follow from a function's only visit (Σy² = y²)
are stored as 0. The first `HEAD_BYTES` of a blob hold the sums of its cell as a whole: a table of applications needs no
more, and they are a hundredth of the bytes (`decode_heads`).
"""

import itertools
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from storage.arrays import Bool, Float, Int64, among, counts
from storage.blobs.columns import from_steps, pack_many, steps, unpack, unpack_two
from storage.blobs.small_numbers import pack_amounts, pack_jumps, unpack_amounts, unpack_jumps
from storage.errors import CorruptCell, CorruptChunk
from storage.rollup import visit_list_codec
from storage.rollup.moments import Sums, concatenated, empty
from storage.rollup.visit_lists import VisitLists

VERSION = 1
ONE, MANY = 1, 2
HEAD = struct.Struct("<BBIQ")
ONE_CELL, MANY_CELL = struct.Struct("<qdd"), struct.Struct("<Iqdddd")
HEAD_BYTES = 80
"""Length of the prefix that holds the sums of the cell as a whole."""
_APART = 3
_TAG_APART = bytes((_APART,))
_ONE_WIDTH, _MANY_WIDTH = 3, 11
_EXACT = float(1 << 53)
_PAIRS_AT_ONCE = 1_000_000
_ONE_BYTES, _MANY_BYTES = 48, 120
"""Memory per row of either kind while it is unpacked; half of it and three quarters are retained."""
_PAIR_BYTES = 200
"""Memory per pair of a cell that lists its visits, while it is unpacked."""
Blobs = Sequence[bytes | memoryview]


def encode(sums: Sums) -> list[bytes]:
    """Encode one blob per cell.

    Raises `CorruptCell` for sums that `decode` rejects. Their cause is not in the cell yet, so the error rejects the
    visit at fault and not a later one.
    """
    _possible(
        sums.x, sums.xx, sums.xxxx, sums.xe, sums.own2, sums.total2, sums.own_x, sums.total_x, sums.own4,
        sums.total4,
    )  # fmt: skip
    single = _is_single(sums)
    blobs: list[bytes] = [b""] * len(sums)
    for kind, chosen in ((ONE, np.flatnonzero(single)), (MANY, np.flatnonzero(~single))):
        part = sums.of(chosen)
        functions = steps(part.function, part.count)
        rest = part.total - part.own
        if kind == ONE:
            packed = pack_functions(functions, part.own, rest, part.count)
        else:
            columns = (functions, part.row_visits, part.row_machines, part.own, rest, *_implied(part))
            packed = pack_many(columns, part.count)
        heads = zip(part.count.tolist(), part.divisor.tolist(), strict=True)
        for place, head, scalars, body in zip(
            chosen.tolist(), heads, _scalars(part, kind), packed, strict=True
        ):
            blobs[place] = HEAD.pack(VERSION, kind, *head) + scalars + body
    return blobs


def decode(blobs: Blobs, wanted: Bool | None = None) -> Sums:
    """The sums of many cells, in order; of all functions, or those `wanted` by id. Raises `CorruptCell`."""
    return Unpacked(blobs).sums(wanted)


_FIRST = [("version", "u1"), ("kind", "u1"), ("rows", "<u4"), ("divisor", "<u8")]
_ONE_HEAD = np.dtype([*_FIRST, ("machines", "<i8"), ("x", "<f8"), ("xe", "<f8")])
_MANY_HEAD = np.dtype(
    [
        *_FIRST,
        ("visits", "<u4"),
        ("machines", "<i8"),
        ("x", "<f8"),
        ("xx", "<f8"),
        ("xxxx", "<f8"),
        ("xe", "<f8"),
    ]
)
"""The bytes before the functions, for either kind."""
_SIZE = _MANY_HEAD.itemsize


def decode_heads(blobs: Blobs) -> Sums:
    """The sums of many raw cells, in units and without functions. Raises `CorruptCell`."""
    if not blobs:
        return empty(0)
    length = np.fromiter(map(len, blobs), np.int64, len(blobs))
    heads = np.frombuffer(b"".join([bytes(blob[:_SIZE]).ljust(_SIZE, b"\0") for blob in blobs]), _MANY_HEAD)
    one = heads["kind"] == ONE
    if (length < np.where(one, _ONE_HEAD.itemsize, _SIZE)).any():
        raise CorruptCell("moments have no header")
    ones = (
        heads.view(np.uint8).reshape(len(heads), _SIZE)[:, : _ONE_HEAD.itemsize].copy().view(_ONE_HEAD)[:, 0]
    )
    factor = heads["divisor"].astype(np.float64)
    x = np.where(one, ones["x"], heads["x"])
    no_rows, nothing = np.zeros(0, np.int64), np.zeros(0)
    return Sums(
        np.ones(len(heads), np.int64),
        np.where(one, 1, heads["visits"]).astype(np.int64),
        np.where(one, ones["machines"], heads["machines"]).astype(np.int64),
        x * factor,
        np.where(one, x**2, heads["xx"]) * factor**2,
        np.where(one, x**4, heads["xxxx"]) * factor**4,
        np.where(one, ones["xe"], heads["xe"]) * factor**2,
        np.zeros(len(heads), np.int64),
        *(no_rows,) * 5,
        *(nothing,) * 6,
    )


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


def parted(blobs: Blobs) -> tuple[list[tuple[int, ...]], list[memoryview]]:
    """The heads of blobs (version, kind, rows, divisor), and the bytes after them. Raises `CorruptCell`."""
    if blobs and min(map(len, blobs)) < HEAD.size:
        raise CorruptCell("moments have no header")
    heads = [HEAD.unpack_from(blob) for blob in blobs]
    if any(head[0] != VERSION or head[1] not in {ONE, MANY, visit_list_codec.KIND} for head in heads):
        raise CorruptCell("moments have an unknown kind")
    if any(not 1 <= head[3] < 1 << 63 for head in heads):
        raise CorruptCell("moments have an impossible divisor")
    return heads, [memoryview(blob)[HEAD.size :] for blob in blobs]


def _is_single(sums: Sums) -> Bool:
    """Cells of one visit, whose sums all follow from x and the functions' self and total."""
    xx = sums.x * sums.x
    single: Bool = (
        (sums.visits == 1) & (sums.xx == xx) & (sums.xxxx == xx * xx) & (np.bitwise_count(sums.machines) == 1)
    )
    chosen = np.flatnonzero(single)
    part = sums.of(chosen)
    cell = part.cell
    x = part.x[cell]
    own2, total2, own4, total4 = _predictions(part.own, part.total)
    follows = (
        (part.row_visits == 1)
        & (part.row_machines == part.machines[cell])
        & (part.own2 == own2)
        & (part.total2 == total2)
        & (part.own_x == part.own * x)
        & (part.total_x == part.total * x)
        & (part.own4 == own4)
        & (part.total4 == total4)
    )
    single[chosen[cell[~follows]]] = False
    return single


def pack_functions(functions: Int64, own: Int64, rest: Int64, rows: Int64) -> list[bytes]:
    """Pack the functions of cells of one visit; `functions` are steps, `rows` the functions of each cell."""
    parts = pack_jumps(functions, rows), pack_amounts(own, rest, rows)
    return [_TAG_APART + step + amount for step, amount in zip(*parts, strict=True)]


def _unpack_functions(blobs: Sequence[memoryview], rows: Int64) -> Sequence[Int64]:
    """Steps, self and total − self of cells of one visit, in either form, in order. Raises `CorruptChunk`."""

    def unpack_apart(of: Int64) -> list[Int64]:
        functions, behind = unpack_jumps([blobs[i][1:] for i in of.tolist()], rows[of])
        return [functions, *unpack_amounts(behind, rows[of])]

    apart = np.array([len(blob) > 0 and blob[0] == _APART for blob in blobs], np.bool_)
    return unpack_two(
        apart, rows, unpack_apart, lambda of: unpack([blobs[i] for i in of.tolist()], rows[of], _ONE_WIDTH)
    )


def _functions(differences: Int64, rows: Int64) -> Int64:
    if len(differences) and int(differences.min()) < 1:
        raise CorruptCell("moments contain a function twice")
    return from_steps(differences, rows)


def _scalars(sums: Sums, kind: int) -> list[bytes]:
    columns = [c.tolist() for c in (sums.visits, sums.machines, sums.x, sums.xx, sums.xxxx, sums.xe)]
    if kind == ONE:
        return [ONE_CELL.pack(*row) for row in zip(columns[1], columns[2], columns[5], strict=True)]
    return [MANY_CELL.pack(*row) for row in zip(*columns, strict=True)]


def _predictions(own: Int64, total: Int64) -> tuple[Float, ...]:
    """Σy² and Σy⁴ of a function of one visit, for self and total."""
    o, t = own.astype(np.float64), total.astype(np.float64)
    oo, tt = o * o, t * t
    return oo, tt, oo * oo, tt * tt


def _own_x(own: Int64, total: Int64, total_x: Float) -> Float:
    """Σx·y of a function of one visit, for self."""
    share = np.divide(own, total, out=np.zeros(len(own)), where=total > 0)
    return share * total_x


def _implied(sums: Sums) -> list[Int64]:
    """The six sums as integers; 0 where they follow from one visit."""
    at = np.flatnonzero(sums.row_visits == 1)
    own, total = sums.own[at], sums.total[at]
    own2, total2, own4, total4 = _predictions(own, total)
    own_x = _own_x(own, total, sums.total_x[at])
    coded = []
    for column, guess in (
        (sums.own2, own2),
        (sums.total2, total2),
        (sums.own_x, own_x),
        (sums.total_x, None),
        (sums.own4, own4),
        (sums.total4, total4),
    ):
        codes = _code(column)
        if guess is not None:
            codes[at[column[at] == guess]] = 0
        coded.append(codes)
    return coded


def _code(sums: Float) -> Int64:
    if not len(sums) or sums.max() < _EXACT:
        return sums.astype(np.int64)
    return np.where(sums < _EXACT, np.minimum(sums, _EXACT).astype(np.int64), sums.view(np.int64))


def _value(codes: Int64) -> Float:
    if not len(codes) or codes.max() < _EXACT:
        return codes.astype(np.float64)
    return np.where(codes < _EXACT, codes.astype(np.float64), codes.view(np.float64))


_LARGEST = 1e75
"""Limit of a sum, so that its fourth power is finite."""


def _possible(*columns: Float) -> None:
    if not all(((column >= 0) & (column < _LARGEST)).all() for column in columns):
        raise CorruptCell("a sum is not a valid amount")


def _total(own: Int64, rest: Int64) -> Int64:
    total = own + rest
    if len(total) and int(total.min()) < 0:
        raise CorruptCell("a total exceeds 63 bits")
    return total


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
        functions, own, rest = _unpack_functions([memoryview(body)[ONE_CELL.size :] for body in bodies], rows)
        heads = [ONE_CELL.unpack_from(body) for body in bodies]
        return cls(heads, rows, divisor, _functions(functions, rows), own, _total(own, rest))

    def amounts(self) -> Iterator[_Portion]:
        for low, high, of in _portions(self.rows):
            yield low, high, self.function[of], self.own[of], self.total[of]

    def sums(self, wanted: Bool | None) -> Sums:
        machines = np.array([c[0] for c in self.heads], np.int64)
        x, xe = np.array([c[1] for c in self.heads]), np.array([c[2] for c in self.heads])
        _possible(x, xe)
        (function, own, total), rows = _of_wanted((self.function, self.own, self.total), self.rows, wanted)
        of = np.repeat(x, rows)
        own2, total2, own4, total4 = _predictions(own, total)
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
        functions, *others = unpack([body[MANY_CELL.size :] for body in bodies], rows, _MANY_WIDTH)
        heads = [MANY_CELL.unpack_from(body) for body in bodies]
        return cls(heads, rows, divisor, (_functions(functions, rows), *others))

    def amounts(self) -> Iterator[_Portion]:
        for low, high, of in _portions(self.rows):
            own = self.columns[3][of]
            yield low, high, self.columns[0][of], own, _total(own, self.columns[4][of])

    def sums(self, wanted: Bool | None) -> Sums:
        visits, machines = (np.array([c[i] for c in self.heads], np.int64) for i in (0, 1))
        x, xx, xxxx, xe = (np.array([c[i] for c in self.heads], np.float64) for i in (2, 3, 4, 5))
        packed, rows = _of_wanted(self.columns, self.rows, wanted)
        function, row_visits, row_machines, own, rest = packed[:5]
        own2, total2, own_x, total_x, own4, total4 = map(_value, packed[5:])
        _possible(x, xx, xxxx, xe, own2, total2, own_x, total_x, own4, total4)
        total = _total(own, rest)
        at = np.flatnonzero(row_visits == 1)
        one_own, one_total = own[at], total[at]
        guesses = (*_predictions(one_own, one_total), _own_x(one_own, one_total, total_x[at]))
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
