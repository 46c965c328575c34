"""The moments that a batch adds to its cells.

The work is with totals: a fact counts for each of its stack's functions, about eighteen times. So cell,
function, visit and units of each are packed into one 63-bit number and sorted at once, in chunks that the
caches can hold.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from storage.rolling.batch import Batch, numbered
from storage.rolling.moments import Sums
from storage.rolling.sorting import Int64, added_up, counts, ranges, starts
from storage.rolling.stack_functions import StackFunctions

_CHUNK = 4_000_000
"""Pairs of a fact and a function that are sorted at once."""
_BITS = 63


@dataclass(frozen=True, slots=True)
class Members:
    """Columns over the visits of cells: a visit's part in one cell is a member of it."""

    of_profile: Int64
    cell: Int64
    """Ascending."""
    cells: int
    sign: Int64
    machine_bit: Int64
    divisor: Int64
    """Units that 1 stands for below."""
    x: Int64
    """What the visit has in the cell."""
    event: Int64
    """What it has of the whole event."""

    @property
    def rank(self) -> Int64:
        """Number of each within its cell."""
        first = starts(self.cell)
        return np.arange(len(self.cell)) - np.repeat(first, np.diff(np.append(first, len(self.cell))))


def members(batch: Batch, cell: Int64, cells: int) -> Members:
    """The members of cells, given the cell of each profile."""
    p, v = batch.profiles, batch.visits
    lead, of_profile = numbered(cell, p.visit)
    _, source = numbered(p.stacks, p.sample_type)
    divisors = np.zeros(int(source.max()) + 1, np.int64)
    np.gcd.at(divisors, source, p.period)
    divisor = divisors[source]
    units = p.samples * (p.period // divisor)
    x = np.zeros(len(lead), np.int64)
    np.add.at(x, of_profile, units)
    _, event_of = numbered(p.visit, source)
    event = np.zeros(int(event_of.max()) + 1, np.int64)
    np.add.at(event, event_of, units)
    visit = p.visit[lead]
    return Members(
        of_profile, cell[lead], cells, v.sign[visit], v.machine_bit[visit], divisor[lead], x, event[event_of[lead]]
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pairs:
    """Σ units by (member, function), each pair once, by ascending cell, function, member."""

    member: Int64
    function: Int64
    y: Int64

    def of(self, member: Int64, to: Members) -> "Pairs":
        """Merged into the members of larger cells; member i becomes `member[i]`."""
        return _pairs(to, member[self.member], self.function, self.y)


def pairs_of_facts(batch: Batch, of: Members, stack_functions: StackFunctions) -> tuple[Pairs, Pairs]:
    """What each member has of each function as a leaf, and anywhere in its stacks."""
    p = batch.profiles
    order = np.argsort(of.of_profile, kind="stable")
    facts = ranges((np.cumsum(p.facts) - p.facts)[order], p.facts[order])
    member = np.repeat(of.of_profile[order], p.facts[order])
    period = np.repeat(p.period[order] // of.divisor[of.of_profile[order]], p.facts[order])
    slot = stack_functions.slots(batch.stack[facts])
    y = batch.samples[facts] * period
    own = _pairs(of, member, stack_functions.leaf(slot), y)
    first, length = stack_functions.slices(slot)
    parts = []
    ends = np.cumsum(length)
    low = 0
    while low < len(member):
        high = max(int(np.searchsorted(ends, (ends[low - 1] if low else 0) + _CHUNK, "right")), low + 1)
        if high < len(member):  # a member stays in one chunk, so that each pair comes out once
            begin = int(np.searchsorted(member, member[high]))
            high = begin if begin > low else int(np.searchsorted(member, member[high], "right"))
        lengths = length[low:high]
        function = stack_functions.functions[ranges(first[low:high], lengths)].astype(np.int64)
        parts.append(
            _pairs(of, np.repeat(member[low:high], lengths), function, np.repeat(y[low:high], lengths))
        )
        low = high
    if len(parts) == 1:
        return own, parts[0]
    # A cell may lie across two chunks; sorting what is nearly sorted is cheap.
    columns = zip(*((part.member, part.function, part.y) for part in parts), strict=True)
    return own, _pairs(of, *map(np.concatenate, columns))


def sums(of: Members, own: Pairs, total: Pairs) -> Sums:
    """The moments of the cells, with the sign of each visit."""
    own_cell, own_function, own_columns = _columns(of, own)
    cell, function, columns = _columns(of, total)
    place = np.searchsorted(_joined(cell, function), _joined(own_cell, own_function))
    y, y2, yx, y4 = (np.zeros(len(cell), column.dtype) for column in own_columns[2:])
    for column, values in zip((y, y2, yx, y4), own_columns[2:], strict=True):
        column[place] = values
    visits, machines, total_y, total_y2, total_yx, total_y4 = columns
    x, sign = of.x.astype(np.float64), of.sign.astype(np.float64)
    xx = x * x
    machine_bits = np.zeros(of.cells, np.int64)
    np.bitwise_or.at(machine_bits, of.cell, of.machine_bit)
    divisor = np.ones(of.cells, np.int64)
    divisor[of.cell] = of.divisor
    n = of.cells
    return Sums(
        divisor,
        added_up(of.cell, sign, n).astype(np.int64),
        machine_bits,
        added_up(of.cell, sign * x, n),
        added_up(of.cell, sign * xx, n),
        added_up(of.cell, sign * (xx * xx), n),
        added_up(of.cell, sign * x * of.event, n),
        counts(cell, n),
        function, visits, machines, y, total_y, y2, total_y2, yx, total_yx, y4, total_y4,
    )  # fmt: skip


def _columns(of: Members, pairs: Pairs) -> tuple[Int64, Int64, list[npt.NDArray[Any]]]:
    """Σ over members by (cell, function): visits, machines, y, y², x·y, y⁴."""
    cell = of.cell[pairs.member]
    first = starts_of_pairs(cell, pairs.function)
    if not len(first):
        none = np.zeros(0)
        return cell, pairs.function, [cell, cell, cell, none, none, none]
    sign, y, x = of.sign[pairs.member], pairs.y.astype(np.float64), of.x[pairs.member].astype(np.float64)
    signed = y * sign
    y2 = signed * y
    return (
        cell[first],
        pairs.function[first],
        [
            np.add.reduceat(sign, first),
            np.bitwise_or.reduceat(of.machine_bit[pairs.member], first),
            np.add.reduceat(pairs.y * sign, first),
            np.add.reduceat(y2, first),
            np.add.reduceat(signed * x, first),
            np.add.reduceat(y2 * (y * y), first),
        ],
    )


def _pairs(of: Members, member: Int64, function: Int64, y: Int64) -> Pairs:
    """Pairs added up; function 0 (a stack the dictionary has lost) is left out."""
    if not len(member):
        return Pairs(member, function, y)
    cell, rank = of.cell, of.rank
    low, high = int(cell[member].min()), int(cell[member].max())
    bits = [n.bit_length() for n in (high - low, int(function.max()), int(rank.max()), int(y.max()))]
    if sum(bits) <= _BITS:
        head = ((cell - low) << (bits[1] + bits[2])) | rank
        packed = (head[member] | (function << bits[2])) << bits[3]
        packed |= y
        packed.sort()
        key = packed >> bits[3]
        first = starts(key)
        summed = np.add.reduceat(packed & ((1 << bits[3]) - 1), first)
        key = key[first]
        function = (key >> bits[2]) & ((1 << bits[1]) - 1)
        place = (key >> (bits[1] + bits[2])) + low
        member = np.searchsorted(cell, np.arange(high + 2))[place] + (key & ((1 << bits[2]) - 1))
    else:
        order = np.lexsort((member, function, cell[member]))
        member, function = member[order], function[order]
        first = np.flatnonzero(np.concatenate(([True], (np.diff(member) != 0) | (np.diff(function) != 0))))
        summed = np.add.reduceat(y[order], first)
        member, function = member[first], function[first]
    known = function > 0
    return (
        Pairs(member[known], function[known], summed[known])
        if not known.all()
        else Pairs(member, function, summed)
    )


def starts_of_pairs(high: Int64, low: Int64) -> Int64:
    """Positions where a new run of equal (high, low) begins."""
    if not len(high):
        return np.empty(0, np.int64)
    fresh = np.ones(len(high), np.bool_)
    fresh[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    return np.flatnonzero(fresh)


def _joined(cell: Int64, function: Int64) -> Int64:
    return (cell << 32) | function
