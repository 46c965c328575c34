"""Sum a batch by visit, cell and function.

Totals dominate the work: a fact counts for each of its stack's functions, about eighteen. So nothing is sorted before
it is summed: (cells' visits × facts) times (facts × functions) is a product of sparse matrices, which sums one row at a
time in an array as wide as the number of functions.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from storage.arrays import Int64, by_pair, counts, group_starts, runs
from storage.rollup.batch import Batch, numbered
from storage.rollup.stack_functions import StackFunctions
from storage.rollup.visit_lists import VisitLists

_CHUNK = 1 << 18
"""(fact, function) pairs multiplied at once: some 10 MB, part of which fits CPU caches."""
_WIDEST = 1 << 22
"""Widest row that is indexed by function id; above it, functions are renumbered first."""


@dataclass(frozen=True, slots=True)
class Members:
    """Columns over members of cells. A member is the part of a visit in one cell."""

    of_profile: Int64
    cell: Int64
    """Ascending."""
    cells: int
    sign: Int64
    machine_bit: Int64
    divisor: Int64
    """Units that 1 stands for below."""
    x: Int64
    """The visit's amount in the cell."""
    event: Int64
    """The visit's amount in the whole event."""

    def __len__(self) -> int:
        return len(self.cell)


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
    """Amounts by (member, function), each pair once; members ascend, functions are unordered."""

    member: Int64
    function: Int64
    own: Int64
    """With the function as the leaf."""
    total: Int64
    """With the function anywhere in the stack."""

    def of(self, member: Int64) -> "Pairs":
        """Merge into the members of larger cells; member i becomes `member[i]`."""
        held = _Functions(self.function, counts(self.member, len(member)), self.own, self.total)
        order = np.argsort(member, kind="stable")
        return held.added_up(member[order], order, np.ones(len(order)))


def pairs_of_facts(batch: Batch, of: Members, stack_functions: StackFunctions) -> Pairs:
    """The amounts of each member by function."""
    p = batch.profiles
    order = np.argsort(of.of_profile, kind="stable")
    facts = runs((np.cumsum(p.facts) - p.facts)[order], p.facts[order])
    member = np.repeat(of.of_profile[order], p.facts[order])
    period = np.repeat(p.period[order] // of.divisor[of.of_profile[order]], p.facts[order])
    y = batch.samples[facts] * period
    slot = stack_functions.slots(batch.stack[facts])
    first, length = stack_functions.slices(slot)
    leaf = stack_functions.leaf_at(slot)
    nothing = np.zeros(0, np.int64)
    parts = [Pairs(nothing, nothing, nothing, nothing)]
    for low, high in _cuts(member, np.cumsum(length)):
        lengths = length[low:high]
        function = stack_functions.functions[runs(first[low:high], lengths)]
        own = np.zeros(len(function))
        own[(np.cumsum(lengths) - lengths + leaf[low:high])[lengths > 0]] = 1
        held = _Functions(function, lengths, own, np.ones(len(function)))
        parts.append(held.added_up(member[low:high], np.arange(high - low), y[low:high]))
    columns = ([getattr(part, name) for part in parts] for name in Pairs.__slots__)
    return Pairs(*map(np.concatenate, columns))


def lists(of: Members, pairs: Pairs) -> VisitLists:
    """The visits of the cells, each with its sign."""
    divisor = np.ones(of.cells, np.int64)
    divisor[of.cell] = of.divisor
    order, _ = by_pair(of.cell[pairs.member], pairs.function)
    return VisitLists(
        divisor, of.cell, of.sign, of.machine_bit, of.x, of.event,
        *(column.take(order) for column in (pairs.member, pairs.function, pairs.own, pairs.total)),
    )  # fmt: skip


def _cuts(member: Int64, ends: Int64) -> Iterator[tuple[int, int]]:
    """Slices of facts, whose functions end at `ends`; a member is in one slice only, so each pair is produced once."""
    low = 0
    while low < len(member):
        high = max(int(np.searchsorted(ends, (ends[low - 1] if low else 0) + _CHUNK, "right")), low + 1)
        if high < len(member):
            begin = int(np.searchsorted(member, member[high]))
            high = begin if begin > low else int(np.searchsorted(member, member[high], "right"))
        yield low, high
        low = high


class _Functions:
    """A sparse matrix: the functions of each row, with their amounts as leaf and anywhere."""

    def __init__(
        self,
        function: npt.NDArray[np.integer],
        lengths: Int64,
        own: npt.NDArray[np.number],
        total: npt.NDArray[np.number],
    ) -> None:
        """Row i has the next `lengths[i]` functions."""
        self._ids: npt.NDArray[np.integer] | None = None
        wide = int(function.max(initial=0)) + 1
        if wide > _WIDEST:
            self._ids, function = np.unique(function, return_inverse=True)
            wide = len(self._ids)
        # Complex numbers compute both sums at once. Doubles are exact: a capture has fewer than 2⁵⁰ units (`MAX_UNITS`
        # of `storage.ingest.decode_capture`).
        amount = np.empty(len(function), np.complex128)
        amount.real, amount.imag = total, own
        bounds = np.concatenate(([0], np.cumsum(lengths)))
        self._matrix = csr_array((amount, function, bounds), shape=(len(lengths), wide))

    def added_up(self, member: Int64, row: Int64, factor: npt.NDArray[np.number]) -> Pairs:
        """Σ factor × row for each member; `member` ascends."""
        lead = group_starts(member)
        chosen = csr_array(
            (factor.astype(np.complex128), row, np.append(lead, len(row))),
            shape=(len(lead), self._matrix.shape[0]),
        )
        product = chosen @ self._matrix
        function = product.indices.astype(np.int64)
        return Pairs(
            np.repeat(member[lead], np.diff(product.indptr)),
            function if self._ids is None else self._ids[function].astype(np.int64),
            product.data.imag.astype(np.int64),
            product.data.real.astype(np.int64),
        )
