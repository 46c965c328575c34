"""What the visits of a batch bring to its cells.

The work is with totals: a fact counts for each of its stack's functions, about eighteen times. So cell,
function, visit and units of each are packed into one 63-bit number and sorted at once, in chunks that the
caches can hold.
"""

from dataclasses import dataclass

import numpy as np

from storage.rolling.batch import Batch, numbered
from storage.rolling.sorting import Int64, ranges, starts
from storage.rolling.stack_functions import StackFunctions
from storage.rolling.visit_lists import VisitLists

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


def lists(of: Members, own: Pairs, total: Pairs) -> VisitLists:
    """The visits of the cells, each with its sign."""
    divisor = np.ones(of.cells, np.int64)
    divisor[of.cell] = of.divisor
    y = np.zeros(len(total.member), np.int64)
    y[_places(of, own, total)] = own.y
    return VisitLists(
        divisor, of.cell, of.sign, of.machine_bit, of.x, of.event, total.member, total.function, y, total.y
    )


def _places(of: Members, own: Pairs, total: Pairs) -> Int64:
    """Where in `total` the pairs of `own` are: a leaf is among its stack's functions."""
    rank = of.rank
    bits = [int(column.max(initial=0)).bit_length() for column in (of.cell, total.function, rank)]
    if sum(bits) <= _BITS:
        low, middle = bits[2], bits[1] + bits[2]
        there, asked = (
            (of.cell[pairs.member] << middle) | (pairs.function << low) | rank[pairs.member]
            for pairs in (total, own)
        )
        return np.searchsorted(there, asked)
    member, function = (np.concatenate((getattr(total, n), getattr(own, n))) for n in ("member", "function"))
    order = np.lexsort((member, function, of.cell[member]))
    place = np.cumsum(order < len(total.member)) - 1  # each of `own` comes right behind its like in `total`
    found = np.empty(len(own.member), np.int64)
    mine = order >= len(total.member)
    found[order[mine] - len(total.member)] = place[mine]
    return found


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
