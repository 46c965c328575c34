"""Places programs on machines so that every program keeps its target (DIGEST I7, and the end of G30).

Objectives in order: as few and as small target misses as possible, then minimum total degradation. The search starts
from programs distributed by bandwidth, and swaps or moves programs as long as that helps, from several starts;
optimality is not guaranteed. With many machines each is compared with a random few at a time. Swaps are limited by
number, not by time, so that the result is deterministic: the best found within the limit. A program's pressure is its
mean solo pressure. A mix without a prediction counts as a target miss.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import inf

import numpy as np

from analysis.errors import NotEstimable, Unreachable
from analysis.input_checks import enough, number
from analysis.interference.target import Target

_STARTS = 8
_OTHERS = 16
"""Machines that each one is compared with in one pass."""
LOOKS = 100_000
"""Total swaps examined: a few seconds. Without a limit 240 programs took two minutes."""
_UNKNOWN = 10.0
"""Degradation assigned to a mix without a prediction: worse than any measured one."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """A program to be placed."""

    target: Target
    most: float
    """Maximum degradation; ∞: no limit."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Programs on machines."""

    machines: tuple[tuple[int, ...], ...]
    """Indexes of tenants, for each machine."""
    degradation: tuple[float, ...]
    """Predicted PD of each tenant, 0 if alone on a machine; NaN without a prediction."""
    unmet: tuple[int, ...]
    """Tenants whose target this placement, the best one found, misses."""
    ended: bool
    """No examined swap improves the placement; False: the search stopped at its limit."""


def place(
    tenants: Sequence[Tenant],
    machines: int,
    slots: int,
    *,
    cautious: bool = False,
    seed: int = 0,
    looks: int = LOOKS,
) -> Placement:
    """The best placement found of all tenants on `machines` with `slots` programs each; deterministic per seed.

    `cautious` applies targets to the upper end of the prediction interval. `looks` is the maximum of swaps examined.
    Raises InsufficientData without tenants, Unreachable if they exceed the slots, NotANumber.
    """
    enough("programs to place", len(tenants), 1)
    for tenant in tenants:
        if tenant.most != inf:
            number("target", tenant.most, 0)
    if len(tenants) > machines * slots:
        raise Unreachable(f"{len(tenants)} programs do not fit on {machines} machines of {slots}.")
    random = np.random.default_rng(seed)
    search = _Search(tenants, slots, cautious, random, int(number("examined exchanges", looks, 0)))
    by_bandwidth = np.argsort(
        [-float(tenant.target.typical.bandwidth[0]) for tenant in tenants], kind="stable"
    )
    orders = [by_bandwidth, *(random.permutation(len(tenants)) for _ in range(_STARTS - 1))]
    best, ended = search.improved(_dealt(orders[0].tolist(), machines))
    for order in orders[1:]:
        if search.looks <= 0:
            break
        found, done = search.improved(_dealt(order.tolist(), machines))
        if search.cost(found) < search.cost(best):
            best, ended = found, done
    degradation = [np.nan] * len(tenants)
    for members in best:
        for member, value in zip(members, search.degradations(members), strict=True):
            degradation[member] = value
    unmet = tuple(place for place, value in enumerate(degradation) if not value <= tenants[place].most)
    return Placement(tuple(best), tuple(degradation), unmet, ended)


Layout = list[tuple[int, ...]]


@dataclass
class _Search:
    tenants: Sequence[Tenant]
    slots: int
    cautious: bool
    random: np.random.Generator
    looks: int
    """Remaining swaps that may be examined."""
    _known: dict[tuple[int, ...], tuple[float, float]] = field(default_factory=dict)

    def cost(self, layout: Layout) -> tuple[float, float]:
        """Total excess over targets, and total degradation."""
        each = [self._machine(members) for members in layout]
        return sum(one[0] for one in each), sum(one[1] for one in each)

    def degradations(self, members: tuple[int, ...]) -> list[float]:
        """Predicted PD of each program of a machine; NaN without a prediction."""
        if len(members) < 2:
            return [0.0] * len(members)
        owns = [self.tenants[member].target.typical for member in members]
        cache, bandwidth = (
            float(sum(parts))
            for parts in zip(*((own.cache[0], own.bandwidth[0]) for own in owns), strict=True)
        )
        return [self._predicted(member, cache, bandwidth) for member in members]

    def improved(self, layout: Layout) -> tuple[Layout, bool]:
        """The improved layout, and whether no examined swap or move of one program improves it further."""
        better = True
        while better:
            better = False
            for one, other in self._pairs(len(layout)):
                before = _sum(self._machine(layout[one]), self._machine(layout[other]))
                for first, second in self._neighbours(layout[one], layout[other]):
                    if self.looks <= 0:
                        return layout, False
                    self.looks -= 1
                    now = _sum(self._machine(first), self._machine(second))
                    if now < (before[0] - 1e-12, -inf) or (
                        now[0] <= before[0] + 1e-12 and now[1] < before[1] - 1e-9
                    ):
                        layout[one], layout[other] = first, second
                        before, better = now, True
                        break
        return layout, True

    def _pairs(self, machines: int) -> Iterator[tuple[int, int]]:
        """All pairs of machines or, for many machines, some pairs of each."""
        if machines <= _OTHERS + 1:
            yield from combinations(range(machines), 2)
            return
        for one in range(machines):
            for other in self.random.choice(machines - 1, _OTHERS, replace=False).tolist():
                yield one, other + (other >= one)

    def _neighbours(
        self, one: tuple[int, ...], other: tuple[int, ...]
    ) -> "list[tuple[tuple[int, ...], tuple[int, ...]]]":
        swaps = [(_with(one, a, b), _with(other, b, a)) for a in one for b in other]
        away = [(_without(one, a), _with(other, None, a)) for a in one if len(other) < self.slots]
        here = [(_with(one, None, b), _without(other, b)) for b in other if len(one) < self.slots]
        return swaps + away + here

    def _machine(self, members: tuple[int, ...]) -> tuple[float, float]:
        if members not in self._known:
            above, total = 0.0, 0.0
            for member, value in zip(members, self.degradations(members), strict=True):
                wanted = self.tenants[member].most
                if np.isnan(value):
                    above += _UNKNOWN if wanted < inf else 0.0
                    total += _UNKNOWN
                else:
                    above += max(0.0, value - wanted)
                    total += value
            self._known[members] = above, total
        return self._known[members]

    def _predicted(self, member: int, cache: float, bandwidth: float) -> float:
        target = self.tenants[member].target
        try:
            # A line can end below zero, but a neighbour never makes a program faster.
            if self.cautious:
                return max(target.predict(cache, bandwidth).degradation.hi, 0.0)
            return max(target.value(cache, bandwidth), 0.0)
        except NotEstimable:
            return np.nan


def _dealt(order: list[int], machines: int) -> Layout:
    """Distribute programs to machines in alternating order, so that none gets all the large ones."""
    layout: list[list[int]] = [[] for _ in range(machines)]
    for position, tenant in enumerate(order):
        around, place = divmod(position, machines)
        layout[place if around % 2 == 0 else machines - 1 - place].append(tenant)
    return [tuple(sorted(members)) for members in layout]


def _with(members: tuple[int, ...], gone: int | None, come: int) -> tuple[int, ...]:
    return tuple(sorted([*(member for member in members if member != gone), come]))


def _without(members: tuple[int, ...], gone: int) -> tuple[int, ...]:
    return tuple(member for member in members if member != gone)


def _sum(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return one[0] + other[0], one[1] + other[1]
