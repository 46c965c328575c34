"""Weights of an application's stacks under given conditions, and the resulting shares of functions."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from simulation.catalogue import Application
from simulation.platforms import PLATFORMS
from simulation.seeded_random import Floats
from simulation.stack_table import StackTable, stack_table

CONTENTION: Final = (1.0, 1.6, 2.6, 4.0)
"""Factor on contended stacks by class of utilisation."""


@dataclass(frozen=True, slots=True, order=True)
class Variant:
    """Conditions that an application's shares depend on."""

    odd: bool = False
    """The release is odd."""
    rare: bool = False
    """The machine runs the rare function."""
    pressure: int = 0
    """Class of the machine's utilisation, 0…3."""
    platform: int = 0
    """Index into `platforms.PLATFORMS`."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of n stacks and their f functions."""

    stacks: Floats
    """Share of each stack; they sum to 1."""
    cumulated: Floats
    """Cumulative sums of `stacks`, for drawing."""
    self: Floats
    """Share of stacks with the function innermost; they sum to 1."""
    total: Floats
    """Share of stacks that contain the function, recursion counted once."""


@lru_cache(maxsize=1024)
def shares(application: Application, seed: int, variant: Variant) -> Shares:
    """Shares of an application's stacks and functions under these conditions."""
    table = stack_table(application, seed)
    weight = _weights(application, table, variant)
    weight = weight / weight.sum()
    functions = len(table.functions)
    own: Floats = np.bincount(table.leaf, weights=weight, minlength=functions).astype(np.float64)
    of_stack = np.repeat(np.arange(len(table)), np.diff(table.starts))
    once = np.unique(of_stack * functions + table.frames)
    total: Floats = np.bincount(
        once % functions, weights=weight[once // functions], minlength=functions
    ).astype(np.float64)
    return Shares(weight, np.cumsum(weight), own, total)


def cost(application: Application, seed: int, *, odd: bool) -> float:
    """Cost of a release of this parity relative to an even one."""
    table = stack_table(application, seed)
    even, this = (_weights(application, table, Variant(odd=parity)).sum() for parity in (False, odd))
    return float(this / even)


def _weights(application: Application, table: StackTable, variant: Variant) -> Floats:
    weight = table.weight.copy()
    if variant.odd:
        weight[table.regressed] *= application.regression
    else:
        weight[table.introduced] = 0.0
    if not variant.rare:
        weight[table.rare] = 0.0
    weight[table.contended] *= CONTENTION[variant.pressure]
    weight[table.vectorized] *= PLATFORMS[variant.platform].vectorized
    return weight
