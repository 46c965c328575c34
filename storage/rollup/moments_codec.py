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
more, and they are a hundredth of the bytes (`decode_heads`). `storage.rollup.unpacked_moments` reads the rest.
"""

import struct
from collections.abc import Sequence

import numpy as np

from storage.arrays import Bool, Float, Int64
from storage.blobs.columns import from_steps, pack_many, steps, unpack, unpack_two
from storage.blobs.small_numbers import pack_amounts, pack_jumps, unpack_amounts, unpack_jumps
from storage.errors import CorruptCell
from storage.rollup import visit_list_codec
from storage.rollup.moments import Sums, empty

VERSION = 1
ONE, MANY = 1, 2
HEAD = struct.Struct("<BBIQ")
ONE_CELL, MANY_CELL = struct.Struct("<qdd"), struct.Struct("<Iqdddd")
HEAD_BYTES = 80
"""Length of the prefix that holds the sums of the cell as a whole."""
_APART = 3
_TAG_APART = bytes((_APART,))
_ONE_WIDTH, MANY_WIDTH = 3, 11
_EXACT = float(1 << 53)
Blobs = Sequence[bytes | memoryview]


def encode(sums: Sums) -> list[bytes]:
    """Encode one blob per cell.

    Raises `CorruptCell` for sums that `decode` rejects. Their cause is not in the cell yet, so the error rejects the
    visit at fault and not a later one.
    """
    check_amounts(
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
    own2, total2, own4, total4 = sums_of_one_visit(part.own, part.total)
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


def unpack_functions(blobs: Sequence[memoryview], rows: Int64) -> Sequence[Int64]:
    """Steps, self and total − self of cells of one visit, in either form, in order. Raises `CorruptChunk`."""

    def unpack_apart(of: Int64) -> list[Int64]:
        functions, behind = unpack_jumps([blobs[i][1:] for i in of.tolist()], rows[of])
        return [functions, *unpack_amounts(behind, rows[of])]

    apart = np.array([len(blob) > 0 and blob[0] == _APART for blob in blobs], np.bool_)
    return unpack_two(
        apart, rows, unpack_apart, lambda of: unpack([blobs[i] for i in of.tolist()], rows[of], _ONE_WIDTH)
    )


def functions_of_steps(differences: Int64, rows: Int64) -> Int64:
    """Function ids of packed steps, cell by cell. Raises `CorruptCell` for one that occurs twice in a cell."""
    if len(differences) and int(differences.min()) < 1:
        raise CorruptCell("moments contain a function twice")
    return from_steps(differences, rows)


def _scalars(sums: Sums, kind: int) -> list[bytes]:
    columns = [c.tolist() for c in (sums.visits, sums.machines, sums.x, sums.xx, sums.xxxx, sums.xe)]
    if kind == ONE:
        return [ONE_CELL.pack(*row) for row in zip(columns[1], columns[2], columns[5], strict=True)]
    return [MANY_CELL.pack(*row) for row in zip(*columns, strict=True)]


def sums_of_one_visit(own: Int64, total: Int64) -> tuple[Float, ...]:
    """Σy² and Σy⁴ of a function of one visit, for self and total."""
    o, t = own.astype(np.float64), total.astype(np.float64)
    oo, tt = o * o, t * t
    return oo, tt, oo * oo, tt * tt


def own_x_of_one_visit(own: Int64, total: Int64, total_x: Float) -> Float:
    """Σx·y of a function of one visit, for self."""
    share = np.divide(own, total, out=np.zeros(len(own)), where=total > 0)
    return share * total_x


def _implied(sums: Sums) -> list[Int64]:
    """The six sums as integers; 0 where they follow from one visit."""
    at = np.flatnonzero(sums.row_visits == 1)
    own, total = sums.own[at], sums.total[at]
    own2, total2, own4, total4 = sums_of_one_visit(own, total)
    own_x = own_x_of_one_visit(own, total, sums.total_x[at])
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


def sums_of_codes(codes: Int64) -> Float:
    """Sums of their codes: integers below 2⁵³, else the bits of a double."""
    if not len(codes) or codes.max() < _EXACT:
        return codes.astype(np.float64)
    return np.where(codes < _EXACT, codes.astype(np.float64), codes.view(np.float64))


_LARGEST = 1e75
"""Limit of a sum, so that its fourth power is finite."""


def check_amounts(*columns: Float) -> None:
    """Raises `CorruptCell` for sums below 0 or too large for their fourth power to be finite."""
    if not all(((column >= 0) & (column < _LARGEST)).all() for column in columns):
        raise CorruptCell("a sum is not a valid amount")


def totals_of(own: Int64, rest: Int64) -> Int64:
    """Totals of self and total − self. Raises `CorruptCell` for one beyond 63 bits."""
    total = own + rest
    if len(total) and int(total.min()) < 0:
        raise CorruptCell("a total exceeds 63 bits")
    return total
