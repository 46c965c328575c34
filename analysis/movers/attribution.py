"""Finds the dimension that explains the change of a function's share: version, compiler, kernel, … (DIGEST G21).

Each dimension is tested twice: did its mix change between values with different shares, and did one value change beyond
the others (`decomposition`)? Permuting visits between the two selections within strata gives the distribution by
chance; Benjamini and Hochberg's procedure over all tests keeps false results below 5 %. Resampling visits gives the
interval of the explained part. If two explain equal parts, the mix comes first, since it is a cause, while a
change within only shows a location. Two values that always occur together (a release built by a new compiler) cannot be
separated, and the result has both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from analysis import confidence
from analysis.arrays import Float
from analysis.errors import BadShape, Constant, InsufficientData
from analysis.false_discovery import FALSE_DISCOVERIES, benjamini_hochberg
from analysis.input_checks import enough
from analysis.measured import Measured
from analysis.movers.decomposition import Change
from analysis.movers.function_parts import Parts
from analysis.movers.resampling import ByValue, Visits

LEAST_VISITS = 8
_ROUNDING = 1e-12
_AS_MUCH = 0.1
"""Explained parts with a smaller difference count as equal."""
_CAUSE = 0.5
"""Minimum explained part of a cause."""
_TOGETHER = 0.9
"""Minimum overlap of two values' units, relative to their union, from which they cannot be separated."""


class Kind(StrEnum):
    """How a dimension explains a change."""

    MIX = "mix"
    """Its values' parts of the whole changed, and their shares differ: a roll-out, a migration."""
    WITHIN = "within"
    """The share changed in one value more than in the others."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of the change by one dimension."""

    dimension: str
    kind: Kind
    value: int
    """Number of the value with the largest effect: it came, went or changed. −1: all rare ones together."""
    explained: Measured
    """Part of the change, 1: all of it; below 0 or above 1 if other changes counteract."""
    p: float
    significant: bool


@dataclass(frozen=True, slots=True)
class Attribution:
    """Why a function's share changed."""

    now: float
    before: float
    delta: Measured
    """now − before, with its interval by resampling visits."""
    explanations: tuple[Explanation, ...]
    """Best first, two for each dimension."""
    cause: Explanation | None
    """The best significant explanation, if it explains at least half of the change."""
    inseparable: tuple[Explanation, ...]
    """Others that explain as much by a value that occurs together with the cause's."""
    visits: tuple[int, int]


def attribute(now: Parts, before: Parts, dimensions: Sequence[str], *, seed: int) -> Attribution:
    """Explain the change of the function's share from `before` to `now`; deterministic per seed.

    Raises InsufficientData below 8 visits on either side, Constant if nothing changed, NotANumber, BadShape.
    """
    if now.values.shape[1] != len(dimensions) or before.values.shape[1] != len(dimensions):
        raise BadShape("Parts need a value of each dimension that is named.")
    enough("dimensions", len(dimensions), 1)
    for parts in (now, before):
        enough("visits on each side", parts.visits, LEAST_VISITS)
        if not float(parts.weight @ parts.whole()[1]) > 0:
            raise InsufficientData("One of the two sides has no samples.")
    random = np.random.default_rng(seed)
    visits = Visits.of(now, before)
    tables = [ByValue.of(now, before, place) for place in range(len(dimensions))]
    seen = [table.change(visits.seen()) for table in tables]
    delta = float(seen[0].delta[0])
    if abs(delta) <= _ROUNDING:
        raise Constant("The function's share is the same on both sides: there is no change to explain.")
    towards = float(np.sign(delta))
    values = [(int(np.argmax(one.mix[0] * towards)), int(np.argmax(one.within[0] * towards))) for one in seen]
    effects = [_effects(one, value) for one, (_, value) in zip(seen, values, strict=True)]
    chance = _by_chance(tables, visits, random)
    drawn, deltas = _by_resampling(tables, visits, random, values)
    p = np.array(
        [
            (1 + (np.abs(chance[kind][place]) >= np.abs(effects[place][kind]) * (1 - 1e-9)).sum())
            / (1 + chance[kind].shape[1])
            for place in range(len(dimensions))
            for kind in (0, 1)
        ]
    )
    found = []
    for number, (p_value, q) in enumerate(zip(p.tolist(), benjamini_hochberg(p).tolist(), strict=True)):
        place, kind = divmod(number, 2)
        found.append(
            Explanation(
                dimensions[place],
                (Kind.MIX, Kind.WITHIN)[kind],
                int(tables[place].value[values[place][kind]]),
                _measured(float(effects[place][kind][0]) / delta, drawn[kind][place] / deltas),
                p_value,
                q <= FALSE_DISCOVERIES,
            )
        )
    found.sort(key=_worse)
    cause = found[0] if found[0].significant and found[0].explained.value >= _CAUSE else None
    y, x = now.whole()
    share = float(now.weight @ y) / float(now.weight @ x)
    return Attribution(
        now=share,
        before=share - delta,
        delta=_measured(delta, deltas),
        explanations=tuple(found),
        cause=cause,
        inseparable=_inseparable(cause, found, dimensions, now, before) if cause else (),
        visits=(now.visits, before.visits),
    )


def _effects(change: Change, value: int) -> tuple[Float, Float]:
    """The total mix, and one value's change beyond the others'; (n,) each."""
    return change.mix.sum(axis=1), change.within[:, value]


def _by_chance(tables: list[ByValue], visits: Visits, random: np.random.Generator) -> tuple[Float, Float]:
    """Effects in permutations, of each dimension, (D, n) each; of the value with the largest change, as in the data."""
    mix: list[list[Float]] = []
    within: list[list[Float]] = []
    for weights in visits.shuffled(random):
        changes = [table.change(weights) for table in tables]
        mix.append([change.mix.sum(axis=1) for change in changes])
        within.append([np.abs(change.within).max(axis=1) for change in changes])
    return np.concatenate(mix, axis=1), np.concatenate(within, axis=1)


def _by_resampling(
    tables: list[ByValue], visits: Visits, random: np.random.Generator, values: list[tuple[int, int]]
) -> tuple[tuple[Float, Float], Float]:
    """Effects of the values found, (D, n) each, and ΔS, (n,), in resamples."""
    mix: list[list[Float]] = []
    within: list[list[Float]] = []
    deltas: list[Float] = []
    for weights in visits.resampled(random):
        changes = [table.change(weights) for table in tables]
        effects = [_effects(change, value) for change, (_, value) in zip(changes, values, strict=True)]
        mix.append([one for one, _ in effects])
        within.append([one for _, one in effects])
        deltas.append(changes[0].delta)
    whole = np.concatenate(deltas)
    return (np.concatenate(mix, axis=1), np.concatenate(within, axis=1)), np.where(whole == 0, np.nan, whole)


def _measured(value: float, resampled: Float) -> Measured:
    lo, hi = np.nanquantile(resampled, confidence.tails())
    return Measured(value, min(float(lo), value), max(float(hi), value))


def _worse(one: Explanation) -> tuple[bool, int, bool, float]:
    """Sort key: significant explanations first, then by distance from explaining everything, mix before within."""
    off = abs(1 - one.explained.value)
    return not one.significant, int(off / _AS_MUCH), one.kind is Kind.WITHIN, off


def _inseparable(
    cause: Explanation, found: list[Explanation], dimensions: Sequence[str], now: Parts, before: Parts
) -> tuple[Explanation, ...]:
    """Significant explanations by values that occur together with the cause's."""
    return tuple(
        one
        for one in found
        if one.significant
        and one.dimension != cause.dimension
        and _common(
            now,
            before,
            (dimensions.index(cause.dimension), cause.value),
            (dimensions.index(one.dimension), one.value),
        )
        >= _TOGETHER
    )


def _common(now: Parts, before: Parts, one: tuple[int, int], other: tuple[int, int]) -> float:
    """Units with both values, relative to those with either; (dimension, value) each."""
    both, either = 0.0, 0.0
    for parts in (now, before):
        units = parts.weight[parts.visit] * parts.x
        has_one, has_other = (parts.values[:, dimension] == value for dimension, value in (one, other))
        both += float(units[has_one & has_other].sum())
        either += float(units[has_one | has_other].sum())
    return both / either if either > 0 else 0.0
