"""Distinct stacks of an application and their frequencies: recorded, or walked once at random over its call graph.

The table is the true value of the application: shares of functions are sums over it, and captures draw from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from simulation.calls import CallGraph, Function, function_of
from simulation.catalogue import Application, Kind
from simulation.programs import Program, program_of
from simulation.seeded_random import Floats, Indexes, generator

WALKS: Final = 6000
"""Walks over a service's graph; the rarest stack has a share of 1 in this number."""
FEWER_WALKS: Final = 500
"""Walks for daemons and kernel threads, which need less detail."""
_DEEPEST: Final = 80
_REGRESSED_SHARE: Final = 0.04
RARE_SHARE: Final = 0.08
"""Share of a rare function in its application on machines that run it."""
INTRODUCED_SHARE: Final = 0.02
"""Share of a new function in its application in releases that have it."""
_CONTENDED: Final = (
    "native_queued_spin_lock_slowpath",
    "runtime.lock2",
    "__lll_lock_wait",
    "LWLockAcquire",
    "take_gil",
)
"""Functions whose share grows with the machine's load."""
_VECTORIZED: Final = (
    "memcpy",
    "memmove",
    "rep_movs",
    "clear_page",
    "aes_gcm",
    "deflate",
    "memset",
    "arraycopy",
)
"""Functions whose cost differs between CPU models."""

_Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class StackTable:
    """n stacks over f functions, leaf first, with the properties that change the share of each."""

    functions: tuple[Function, ...]
    frames: Indexes
    """Functions of all stacks, stack by stack."""
    starts: Indexes
    """n + 1 positions in `frames`."""
    weight: Floats
    """Share of each stack in an even release on an unloaded machine of platform 0; for rare and introduced stacks,
    their addition to it."""
    regressed: _Flags
    """Stacks through the function that odd releases slow down."""
    rare: _Flags
    """Stacks that occur on few machines only."""
    introduced: _Flags
    """Stacks that only odd releases have."""
    contended: _Flags
    """Stacks that occur more often on busy machines."""
    vectorized: _Flags
    """Stacks whose cost depends on the CPU model."""
    regressed_function: int
    """Index of the function behind `regressed`; −1 without one."""

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def leaf(self) -> Indexes:
        """The innermost function of each stack."""
        return self.frames[self.starts[:-1]]


@lru_cache(maxsize=256)
def stack_table(application: Application, seed: int) -> StackTable:
    """The stacks of an application."""
    program = program_of(application, seed)
    functions, distinct, counts = (
        _recorded(program) if program.recorded else _walked(application, program, seed)
    )
    depth = (distinct >= 0).sum(axis=1)
    starts = np.append(0, np.cumsum(depth))
    frames = np.concatenate([row[:length][::-1] for row, length in zip(distinct, depth, strict=True)])
    through = _Through(frames, starts, functions)
    rare, introduced = through.place(program.rare), through.place(program.introduced)
    usual = ~rare & ~introduced
    weight = counts / counts[usual].sum()
    for chosen, share in ((rare, RARE_SHARE), (introduced & ~rare, INTRODUCED_SHARE)):
        if chosen.any():
            weight[chosen] *= share / weight[chosen].sum()
    slow = _regressed(application, program, through, np.where(usual, weight, 0.0))
    return StackTable(
        functions, frames, starts, weight,
        regressed=through.any([index == slow for index in range(len(functions))]), rare=rare, introduced=introduced,
        contended=through.any([any(part in f.symbol for part in _CONTENDED) for f in functions]),
        vectorized=through.any([any(part in f.symbol for part in _VECTORIZED) for f in functions]),
        regressed_function=slow,
    )  # fmt: skip


def _recorded(program: Program) -> tuple[tuple[Function, ...], Indexes, Indexes]:
    """Functions, distinct stacks outermost first padded with −1, and samples of each."""
    functions = tuple(sorted(program.functions))
    number = {function: index for index, function in enumerate(functions)}
    stacks = np.full((len(program.recorded), max(map(len, program.recorded))), -1, np.int64)
    for row, stack in zip(stacks, program.recorded, strict=True):
        row[: len(stack)] = [number[function] for function in stack]
    return functions, stacks, np.array(list(program.recorded.values()), np.int64)


def _walked(
    application: Application, program: Program, seed: int
) -> tuple[tuple[Function, ...], Indexes, Indexes]:
    """As `_recorded`, from walks over the call graph."""
    random = generator(seed, f"stacks of {application.name}")
    walks = WALKS if application.kind is Kind.SERVICE else FEWER_WALKS
    names, paths = _walk(program.graph, program.roots, walks, random)
    used = [names[place] for place in np.unique(paths[paths >= 0])]
    functions = tuple(sorted({function_of(name) for name in used}))
    number = {function: index for index, function in enumerate(functions)}
    of_place = np.array([*(number.get(function_of(name), -1) for name in names), -1], np.int64)
    distinct, counts = np.unique(of_place[paths], axis=0, return_counts=True)
    return functions, distinct, counts


@dataclass(frozen=True, slots=True)
class _Through:
    """Finds the stacks that pass through given functions."""

    frames: Indexes
    starts: Indexes
    functions: tuple[Function, ...]

    def place(self, name: str) -> _Flags:
        """Stacks through the function of a place; "" matches none."""
        return self.any([bool(name) and function == function_of(name) for function in self.functions])

    def any(self, chosen: Sequence[bool]) -> _Flags:
        """Stacks through any chosen function."""
        return np.asarray(np.logical_or.reduceat(np.array(chosen)[self.frames], self.starts[:-1]))


def _regressed(application: Application, program: Program, through: _Through, weight: Floats) -> int:
    """The function of the application's own code whose total share is closest to the regression's target."""
    if application.regression == 1.0:
        return -1
    own = {function_of(name) for name in program.own}
    best, distance = -1, np.inf
    for index, function in enumerate(through.functions):
        if function in own:
            share = weight[through.any([i == index for i in range(len(through.functions))])].sum()
            if abs(share - _REGRESSED_SHARE) < distance:
                best, distance = index, abs(share - _REGRESSED_SHARE)
    return best


def _walk(
    graph: CallGraph, roots: Mapping[str, float], walks: int, random: np.random.Generator
) -> tuple[list[str], Indexes]:
    """Paths from a root to the end of the walk, as places, outermost first, padded with −1."""
    names = sorted({*graph.places, *(callee for place in graph.places.values() for callee in place.callees)})
    number = {name: index for index, name in enumerate(names)}
    widest = 1 + max(len(place.callees) for place in graph.places.values())
    chance = np.ones((len(names), widest))  # cumulative; the first is the probability to stop here
    target = np.full((len(names), widest), -1, np.int64)
    for name, place in graph.places.items():
        weights = np.array([place.own, *place.callees.values()])
        if weights.sum():
            chance[number[name], : len(weights)] = np.cumsum(weights) / weights.sum()
            target[number[name], 1 : len(weights)] = [number[callee] for callee in place.callees]
    shares = np.array(list(roots.values()))
    at = np.array([number[name] for name in roots])[
        random.choice(len(shares), walks, p=shares / shares.sum())
    ]
    paths = np.full((walks, _DEEPEST), -1, np.int64)
    for depth in range(_DEEPEST):
        paths[:, depth] = at
        going = np.flatnonzero(at >= 0)
        if not len(going):
            break
        here = at[going]
        step = (random.random(len(going))[:, None] >= chance[here]).sum(axis=1)
        at = np.full(walks, -1, np.int64)
        at[going] = target[here, np.minimum(step, widest - 1)]
    return names, paths
